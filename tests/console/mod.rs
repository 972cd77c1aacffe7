//! The console: access, the contents of each page, and the entries in the audit log.

mod doors;
mod kept;
mod pages;
mod views;
mod webhooks;
pub(crate) mod world;
