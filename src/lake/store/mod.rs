//! An open lake and its folder.

pub(super) mod copy;
pub(super) mod disk;
pub(super) mod folder;
pub mod image;
pub(super) mod info;
pub(super) mod open;
pub(super) mod survey;
pub(super) mod trust;
