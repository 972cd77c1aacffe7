//! Redirects to sources and identity providers, and their callbacks.

pub(in crate::http::connect) mod callback;
pub(in crate::http::connect) mod granted;
pub(in crate::http::connect) mod places;
pub(in crate::http::connect) mod travel;
