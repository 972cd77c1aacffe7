//! Organizations to connect to, over the synthetic population: payers, a provider, facilities, an identity provider and
//! a record locator. They run as one HTTP server.
//!
//! It decides how such organizations behave towards a SMART client: who gets in, what they send and, for tests, how
//! they fail. It does not know the service that connects to it.

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
