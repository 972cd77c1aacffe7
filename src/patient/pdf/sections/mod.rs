//! The sections of a source's part, in order. Each section decides which resources it takes, and their columns.

mod activity;
mod care;
mod claims;
mod observations;
mod order;
mod person;
mod problems;
mod section;

pub(super) use order::{OTHER, SECTIONS};
pub(super) use section::Table;
