//! A sample application. It shows the code that a developer writes to connect a person's records and to read them. It
//! runs on a server, calls the service over HTTP like any client, and has its own browser sessions. It uses only what
//! the service's documentation describes.

mod client;
mod developer;
mod link;
mod overview;
mod pages;
mod profile;
mod reading;
mod record;
mod records;
mod routes;
mod session;
mod share;
mod start;
mod state;

pub use client::AppSettings;
pub use profile::MARK;
pub(super) use routes::routes;
pub(super) use state::App;
