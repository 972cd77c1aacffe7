//! Rows that are looked up rather than scanned: by id, by place, by person.

pub(super) mod bulk;
pub(super) mod locator;
pub(super) mod person;
pub(super) mod point;
