//! Upstream organizations to connect to: payers, a provider and facilities over the synthetic population, an identity
//! provider and a record locator, as one HTTP server.
//!
//! It decides how such organizations behave towards a SMART client: who gets in, what they hand out and, for tests, how
//! they fail. It knows nothing of the service that connects to it.

mod additions;
mod admin;
pub(super) mod answer;
mod authorize;
mod bundle;
mod consent;
mod dialect;
mod fhir;
mod grants;
mod holding;
mod identity;
mod key;
mod knobs;
mod locator;
mod login;
mod metadata;
mod office;
mod organization;
mod pages;
mod papers;
pub(super) mod params;
mod people;
mod row;
mod scopes;
mod server;
mod shelf;
mod token;
mod world;

pub use knobs::{KnobError, Turn};
pub use organization::{CLIENT_ID, CLIENT_SECRET, Kind, ORGANIZATIONS, Organization};
pub use people::{PASSWORD, Person};
pub use server::Sandbox;
pub use world::Settings;
