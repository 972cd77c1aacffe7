//! The console: access, the contents of each page, and the entries in the audit log.

mod doors;
mod kept;
mod pages;
mod views;
pub(crate) mod world;
