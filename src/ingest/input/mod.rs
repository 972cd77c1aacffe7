//! Turns files into normalized resources.

pub(super) mod copy;
pub(super) mod document;
pub(super) mod filing;
pub(super) mod form;
pub(super) mod normalize;
pub(super) mod pending;
pub(super) mod source;
