//! A SMART on FHIR client: discovery, authorization, tokens, identities, and FHIR over guarded HTTP.
//!
//! It interprets a source's answers and decides which failures are temporary. `consent` decides the effect on a
//! consent. The jobs decide what is fetched when. Errors and logs name hosts and statuses, never a path, a query, a
//! token or contents.

mod authorize;
mod calls;
mod discovery;
mod error;
mod http;
mod identity;
mod locator;
mod registration;
mod secret;
mod statement;
mod token;
mod whose;

pub use authorize::{Redirect, Verifier};
pub use calls::Client;
pub use discovery::Configuration;
pub use error::Error;
pub(super) use error::is_passing;
pub use http::guard::Guard;
pub use http::realm::Realm;
pub use http::{Answer, Download, HttpLimits};
pub use identity::{Identity, Provider};
pub use locator::{Demographics, Facility};
pub use registration::Registration;
pub use secret::SecretTried;
pub use statement::{Served, Statement};
pub use token::Grant;
pub use whose::Arrival;
