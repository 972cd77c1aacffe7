//! Webhooks: posts the events of consents to the applications' receivers, signed as Standard Webhooks says.
//!
//! This module decides how a message is signed and posted, how many are posted at once, and which answers are a
//! success. `consent::webhooks` decides which events there are, who gets them, and when a delivery is tried again. This
//! module reads no records.

mod attempt;
mod deliverer;
mod listen;
mod places;
mod settings;
mod signature;

pub use deliverer::Deliverer;
pub use listen::{Forwarded, ListenError, listen};
pub use settings::Settings;
pub use signature::sign;
