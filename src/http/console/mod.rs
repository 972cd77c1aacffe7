//! The console: what operators see of a server in a browser, without scripts. Off unless `serve --console` turns it on.
//!
//! Decides who is let in (`session`), what each page asks of the engine (`pages`), and how it is shown (`shown`). It
//! reads records only through scopes, as the API does, and every look at records is in the audit log before they are
//! shown. It changes nothing but its own sessions.

mod pages;
mod routes;
mod session;
mod shown;
mod slow;

pub(super) use routes::routes;
pub(super) use slow::SlowRequests;
