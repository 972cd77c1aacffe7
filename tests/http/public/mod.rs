//! What anybody may ask.

pub(super) mod directory;
pub(super) mod discovery;
pub(super) mod provider_directory;
