//! Operations on all of a patient's records: which resources these are, and the documents made of them.
//!
//! Decides which types a patient's record has and in which order, and the meaning of each operation's parameters.
//! `search` and `lake` find the resources and decide who may see them. `http` and `cli` handle callers and the form of
//! answers.
//!
//! One folder per operation: `everything` returns the records as they are, `summary` makes a document, `pdf` makes
//! pages, `card` makes the payload of a health card.

pub mod card;
mod concept;
mod devices;
mod error;
pub mod everything;
mod follow;
mod members;
pub mod pdf;
mod record;
pub mod summary;
mod words;

pub use error::PatientError;
pub use members::REFERRED;
pub use record::{Record, record};
