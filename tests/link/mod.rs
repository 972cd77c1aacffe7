//! The link API from the exchange of a public token on, over HTTP.

mod exchange;
mod introspect;
mod revoke;
mod token;
