//! What is done with all of a patient's records: which resources these are, and what is made of them.
//!
//! Decides which types a patient's record has and in which order, and what the parameters of each operation mean. Where
//! resources lie and who may see them, `search` and `lake` decide; who asks, and in which form answers go out, `http`
//! and `cli`.
//!
//! One folder per operation: `everything` gives the records out as they are, `summary` makes a document of them, `pdf`
//! pages to print, `card` what a health card says.

pub mod card;
mod concept;
mod error;
pub mod everything;
mod members;
pub mod pdf;
mod record;
pub mod summary;
mod words;

pub use error::PatientError;
pub use members::REFERRED;
pub use record::{Record, record};
