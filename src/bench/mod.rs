//! How fast a FHIR server answers: requests drawn from a lake, sent over HTTP, timed and reported.
//!
//! Decides what is asked (mixes of query families, whose parameters are real ids, codes, people, dates and values of
//! the lake, drawn with a seed), how it is asked (so many clients at once, each on a connection of its own that waits
//! for one answer before it asks again) and what is said of it. It judges no answer beyond its status and the type of
//! resource it begins with, and holds no server of its own but a child process of the same program.

mod builtin;
mod child;
mod chunks;
mod client;
mod compare;
mod connection;
mod dice;
mod error;
mod html;
mod machine;
mod mix;
mod people;
mod plan;
mod pool;
mod report;
mod request;
mod row;
mod run;
mod soak;
mod tally;
mod target;
mod template;
mod tls;
mod walk;

pub use child::Child;
pub use compare::comparison;
pub use error::BenchError;
pub use html::page;
pub use mix::Mix;
pub use report::{Report, heading};
pub use run::{Asked, Bench, Settings};
pub use soak::Copy;
pub use target::Target;
