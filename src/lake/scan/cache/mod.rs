//! What reading keeps between questions: open files, indexes of ids, rows lately read.

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
