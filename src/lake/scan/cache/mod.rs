//! What reading keeps between questions: open files, indexes of ids, rows lately read.

pub(super) mod file;
pub(super) mod handles;
pub(super) mod held;
pub(super) mod id_index;
pub(super) mod kept;
pub(super) mod memory;
pub(super) mod warm;
