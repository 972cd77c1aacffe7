//! Evaluates a resolved program on the contexts of a focus.

pub(super) mod combine;
pub(super) mod extract;
pub(super) mod focus;
pub(super) mod interpreter;
pub(super) mod invocation;
pub(super) mod json;
pub(super) mod lineage;
pub(super) mod navigate;
pub(super) mod opening;
pub(super) mod origin;
pub(super) mod work;
