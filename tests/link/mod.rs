//! The link API over HTTP, from the exchange of a public token.

mod exchange;
mod introspect;
mod revoke;
mod token;
