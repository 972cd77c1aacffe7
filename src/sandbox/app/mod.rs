//! A sample application: the code that a developer writes to connect a person's records and read them. It is an
//! ordinary client of the service, over HTTP from a server, with its own browser session. It does only what the
//! service's documents ask of an application.

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
mod state;

pub use client::AppSettings;
pub(super) use routes::routes;
pub(super) use state::App;
