//! The OAuth API: tokens for codes, for refresh tokens and for key pairs; introspection, revocation and registration of
//! clients.
//!
//! `consent` decides grants. This room turns a request into one of its calls, and the result into an answer. It also
//! has the code shared with the link API's token endpoints.

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
pub(super) use error::{OAuthError, rendered};
pub(super) use introspect::introspected;
pub(super) use revoke::{Revocation, erased};
pub(super) use routes::routes;
pub(super) use token::{Asked, Given, Grant};
