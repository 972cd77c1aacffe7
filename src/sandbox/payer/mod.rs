//! Upstream organizations to connect to: payers, a provider and facilities over the synthetic population, an identity
//! provider and a record locator, as one HTTP server.
//!
//! It decides how such organizations behave towards a SMART client: who gets in, what they hand out and, for tests, how
//! they fail. It knows nothing of the service that connects to it.

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
