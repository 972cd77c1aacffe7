//! Measures how fast a FHIR server answers. Requests are drawn from a lake, sent over HTTP, timed and reported.
//!
//! Decides which requests are sent: those of mixes, which consist of families of queries. Their parameters are real
//! ids, codes, people, dates and values of the lake, drawn with a seed. Decides how clients send them: each client has
//! its own connection, and waits for one answer before it sends the next request. Decides what is reported. The bench
//! judges answers only by their status and the resource type at their beginning. The only server that it starts is a
//! child process of the same program.

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
