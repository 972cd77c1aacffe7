//! The console: a server's pages for operators, without scripts. It is off unless the server was started with
//! `serve --console`.
//!
//! `session` decides who may sign in, `pages` what each page requests from the engine, and `shown` how the result is
//! shown. The console reads records only through scopes, as the API does. Before it shows records, it writes an entry
//! to the audit log. It changes nothing but its own sessions and that log, and sends webhooks again.

mod pages;
mod routes;
mod session;
mod shown;
mod slow;

pub(super) use pages::nowhere::nowhere;
pub use routes::console_paths;
pub(super) use routes::routes;
pub(super) use slow::SlowRequests;
