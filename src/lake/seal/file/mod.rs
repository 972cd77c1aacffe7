//! A sealed Parquet file: its clear footer, its decrypted footer and pages.

pub(super) mod announcement;
pub(super) mod open;
#[cfg(test)]
pub(super) mod page_tests;
pub(super) mod pages;
