//! Sync: the service as a client of the sources that patients connect, and the records that it fetches from them.
//!
//! This module decides how a source is asked, and which records are fetched and when. It also erases the rows of ended
//! consents. It does not know the service's own clients, and answers no HTTP requests itself.

pub mod client;
mod document;
mod erase;
mod jobs;
mod settings;
mod worker;

pub use document::{Document, NotGiven, Shelf};
pub use erase::{Erasing, carry_out_erasures, intent};
pub use jobs::empty_spool;
pub use settings::{Pace, Settings, SyncLimits};
pub use worker::Worker;
