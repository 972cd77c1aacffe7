//! The server answers as it declares.

pub(super) mod answers;
pub(super) mod drawn;
pub(super) mod metadata;
