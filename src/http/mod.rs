//! The service over HTTP: routes, what each takes from a request, and how every outcome becomes a status and a body.
//!
//! One file per endpoint family; `error` is the only place that maps errors to answers, `frame` what surrounds every
//! request. What is found and who may see it is decided below, in `search`, `views`, `lake` and `consent`.

mod accept;
mod admission;
mod answer;
mod auth;
mod binary;
mod body;
mod capability;
mod coding;
mod compress;
mod conditional;
mod connect;
mod described;
mod directory;
mod discovery;
mod error;
mod explain;
mod file_limit;
mod frame;
mod health_link;
mod home;
mod limits;
mod link;
mod message;
mod negotiate;
mod oauth;
mod parameters;
mod patient;
mod patient_wildcard;
mod places;
mod pretty;
mod protection;
mod range;
mod read;
mod receipts;
mod request_id;
mod resource_type;
mod rest;
mod routes;
mod run_request;
mod search;
mod server;
mod service;
mod shape;
mod spool;
mod stream;
mod throttle;
mod turns;
mod view_body;
mod view_format;
mod view_inline;
mod view_run;
mod view_source;
mod view_validate;
mod workers;

pub use file_limit::raise_file_limit;
pub use limits::{Limits, Rate, Rates};
pub use server::{ServeError, serve};
pub use service::{Options, Service};
