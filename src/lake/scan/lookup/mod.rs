//! Looks up rows without a scan: by id, by locator or by person.

pub(super) mod bulk;
pub(super) mod locator;
pub(super) mod person;
pub(super) mod point;
