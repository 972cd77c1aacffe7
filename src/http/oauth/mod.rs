//! The OAuth API: tokens for codes, for refresh tokens and for key pairs; introspection, revocation and registration of
//! clients.
//!
//! What a grant gives and takes is decided in `consent`; here a request becomes one of its calls, and what comes of it
//! an answer. What the link API's token endpoints have in common with these is here, too.

mod answer;
mod bearer;
mod body;
mod client;
pub(super) mod described;
mod error;
mod introspect;
mod metadata;
mod register;
mod revoke;
mod routes;
mod token;

pub(super) use answer::TokenAnswer;
pub(super) use bearer::{PatientToken, SignedToken};
pub(super) use body::Fields;
pub(super) use error::{OAuthError, recast};
pub(super) use introspect::introspected;
pub(super) use revoke::{Revocation, erased};
pub(super) use routes::routes;
pub(super) use token::{Asked, Given, Grant};
