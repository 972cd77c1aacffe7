//! The other side of a consent: the service as a client of the sources that patients connect, and what it fetches from
//! them.
//!
//! This room decides how a source is asked, which records are fetched and when, and carries out what consents have
//! ended: their rows leave the lake. It knows nothing of who asks the service, and gives no answer over HTTP itself.

pub mod client;
mod document;
mod erase;
mod jobs;
mod settings;
mod worker;

pub use document::{Document, NotGiven, Shelf};
pub use erase::{Erasing, carry_out_erasures, intent};
pub use settings::{Pace, Settings, SyncLimits};
pub use worker::Worker;
