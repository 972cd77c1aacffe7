//! `$health-cards-issue`: a person's records as the payload of a SMART Health Card (framework 1.4).
//!
//! Decides what of the records a card holds, and in which form. It is pure: it takes records and gives deflated bytes.
//! Who signs them, and which cards are revoked, `consent` decides.

mod error;
mod payload;
mod places;
mod slim;

pub use error::CardError;
pub use payload::{Request, payload};
pub use places::Resource;
