//! Lakes for tests.

#[allow(dead_code)]
pub(crate) mod kind;
pub(crate) mod lake;
pub(crate) mod records;
pub(crate) mod stored;
