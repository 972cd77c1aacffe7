//! What the server declares of itself is what it answers.

pub(super) mod answers;
pub(super) mod drawn;
pub(super) mod metadata;
