//! The ways to sources and identity providers, and back from them.

pub(in crate::http::connect) mod callback;
pub(in crate::http::connect) mod granted;
pub(in crate::http::connect) mod places;
pub(in crate::http::connect) mod travel;
