//! The operators, one file per family: their result types and their evaluation.

pub(super) mod arithmetic;
mod binary;
pub(super) mod comparison;
pub(super) mod equality;
mod hashing;
mod logic;
mod resources;
pub(super) mod sets;
pub(super) mod types;

pub(super) use binary::{binary, shape};
