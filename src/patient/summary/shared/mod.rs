//! Code that several sections share.

pub(super) mod common;
pub(super) mod conditions;
pub(super) mod observations;
mod section;

pub(super) use section::{Row, Section};
