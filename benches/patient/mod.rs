//! Answers made of all records of a person.

pub(super) mod cards;
pub(super) mod everything;
pub(super) mod record;
