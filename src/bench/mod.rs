//! How fast a FHIR server answers: requests drawn from a lake, sent over HTTP, timed and reported.
//!
//! Decides what is asked (mixes of query families, whose parameters are real ids, codes, people, dates and values of
//! the lake, drawn with a seed), how it is asked (so many clients at once, each on a connection of its own that waits
//! for one answer before it asks again) and what is said of it. It judges no answer beyond its status and the type of
//! resource it begins with, and holds no server of its own but a child process of the same program.

mod ask;
mod connect;
mod error;
mod run;
mod soak;
mod tell;

pub use ask::mix::Mix;
pub use connect::child::Child;
pub use connect::target::Target;
pub use error::BenchError;
pub use run::{Asked, Bench, Settings};
pub use soak::Copy;
pub use tell::compare::comparison;
pub use tell::html::page;
pub use tell::report::{Report, heading};
