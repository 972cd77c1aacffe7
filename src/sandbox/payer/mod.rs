//! The organizations of the sandbox: payers, providers, facilities, an identity provider and a record locator. Their
//! records come from the synthetic population. A person can connect an application to them. One HTTP server serves all
//! of them.
//!
//! This module decides how these organizations behave towards a SMART client: who gets access, what they send and, for
//! tests, how they fail. It does not know the service that connects to them.

pub(super) mod answer;
mod office;
pub(super) mod params;
mod records;
mod sign_in;

pub use office::knobs::{KnobError, Turn};
pub use office::organization::{CLIENT_ID, CLIENT_SECRET, Kind, ORGANIZATIONS, Organization};
pub use office::people::{PASSWORD, Person};
pub use office::server::Sandbox;
pub use office::world::Settings;
