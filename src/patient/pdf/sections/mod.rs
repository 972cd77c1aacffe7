//! The sections of the pages about one source, in order. Each section decides which resources it shows, and in which
//! columns.

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
