//! The link API: tokens for the public token of the link component, introspection, refreshes that fetch fresh records,
//! and revocation of every link of a user to an endpoint.

mod exchange;
mod introspect;
mod revoke;
mod routes;
mod token;

pub(super) use routes::routes;
