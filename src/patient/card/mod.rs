//! `$health-cards-issue`: a person's records as the payload of a SMART Health Card (framework 1.4).
//!
//! Decides in which form a card holds the records. It is pure: it takes records and returns deflated bytes. `http`
//! reads the records; `consent` signs and revokes cards.

mod error;
mod payload;
mod places;
mod slim;

pub use error::CardError;
pub use payload::{Request, payload};
pub use places::Resource;
