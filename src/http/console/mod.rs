//! The console: a server's pages for operators, without scripts. Off unless `serve --console` turns it on.
//!
//! Decides who may sign in (`session`), what each page requests from the engine (`pages`), and how it is shown
//! (`shown`). It reads records only through scopes, as the API does. Every view of records is in the audit log before
//! they are shown. The console changes nothing except its own sessions.

mod pages;
mod routes;
mod session;
mod shown;
mod slow;

pub use routes::console_paths;
pub(super) use routes::routes;
pub(super) use slow::SlowRequests;
