//! The OAuth API: tokens for authorization codes, refresh tokens and key pairs; introspection and revocation of
//! tokens; registration of clients.
//!
//! The module `consent` decides on grants. This module turns a request into a call of `consent`, and the result into
//! a response. It also has the code that it shares with the link API's token endpoints.

mod answer;
mod bearer;
mod body;
mod client;
pub(super) mod described;
mod error;
mod introspect;
mod registration;
mod revoke;
mod routes;
mod token;

pub(super) use answer::TokenAnswer;
pub(super) use bearer::{PatientToken, SignedToken};
pub(super) use body::Fields;
pub(super) use client::KeyPair;
pub(super) use error::{OAuthError, rendered};
pub(super) use introspect::introspected;
pub(super) use revoke::{Revocation, erased};
pub(super) use routes::routes;
pub(super) use token::{Asked, Given, Grant};
