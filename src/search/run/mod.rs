//! The ways to run a query: over one person's columns, as a plan over many people, or over several types. Also explains
//! how an answer came about.

pub(super) mod contained;
mod counted;
pub(super) mod explain;
pub(super) mod lookup;
pub(super) mod matches;
pub(super) mod merge;
pub(super) mod parts;
pub(super) mod person;
pub(super) mod person_operator;
mod plans;
pub(super) mod population;
pub(super) mod sessions;
pub(super) mod single_type;
pub(super) mod sorted;
pub(super) mod system;
