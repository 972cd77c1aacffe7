//! The HTTP service: routes, their parameters, and the status and body of each response.
//!
//! Each group of endpoints has a module of its own. `error` maps all errors to statuses and headers, and
//! `server::frame` wraps every request. The modules `search`, `views`, `lake` and `consent` decide what is found and
//! who may see it.

mod auth;
mod body;
mod connect;
mod console;
mod csrf;
mod described;
mod directory;
mod discovery;
mod error;
mod fhir;
mod health_link;
mod home;
mod limits;
mod link;
mod message;
mod oauth;
mod receipts;
mod rest;
mod routes;
mod server;
mod service;
mod shape;
mod spool;
mod throttle;

pub use connect::{Branding, BrandingError, LanguageError, Languages, Pages};
pub use console::console_paths;
pub(crate) use fhir::patient::source_of_patient;
pub use limits::{Limits, Rate, Rates};
pub use server::file_limit::raise_file_limit;
pub use server::listener::{ServeError, serve};
pub use service::{Options, Service};
