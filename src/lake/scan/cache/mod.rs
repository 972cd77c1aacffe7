//! Caches data between requests: open files, id indexes, recently read rows and more.

pub(super) mod file;
pub(super) mod handles;
pub(super) mod held;
mod hold;
pub(super) mod id_index;
mod indexes;
pub(super) mod kept;
pub(super) mod memory;
pub(super) mod person;
pub(super) mod warm;
pub(super) mod weigh;
