//! Reads sealed Parquet files: the clear part of the footer, the encrypted part, and the pages.

pub(super) mod announcement;
pub(super) mod open;
#[cfg(test)]
pub(super) mod page_tests;
pub(super) mod pages;
