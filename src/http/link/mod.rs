//! The link API. It exchanges public tokens of the link component for access tokens, introspects and refreshes tokens
//! (a refresh also fetches fresh records), and revokes all links of a user to an endpoint.

mod exchange;
mod introspect;
mod revoke;
mod routes;
mod token;

pub(super) use routes::routes;
