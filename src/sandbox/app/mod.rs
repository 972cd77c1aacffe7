//! A sample application: what a developer writes to connect somebody's records and read them.
//!
//! It is an ordinary client of the service, over HTTP and on the server's side, with a browser session of its own. It
//! decides nothing that the service's documents do not ask of an application.

mod client;
mod developer;
mod link;
mod overview;
mod pages;
mod reading;
mod record;
mod records;
mod routes;
mod session;
mod share;
mod start;

pub use client::AppSettings;
pub(super) use routes::{App, routes};
