//! An open lake and its folder.

pub(super) mod copy;
pub(super) mod folder;
pub mod image;
pub(super) mod info;
pub(super) mod open;
pub(crate) mod private;
pub(super) mod survey;
