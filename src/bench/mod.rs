//! Measures how fast a FHIR server answers. Requests are drawn from a lake, sent over HTTP, timed and reported.
//!
//! The bench decides which requests are sent: those of mixes. A mix consists of families of queries. The parameters of
//! the queries are real ids, codes, people, dates and values of the lake, drawn with a seed. The bench decides how
//! clients send requests: each client has its own connection, and waits for one answer before it sends the next
//! request. The bench decides what is reported. It judges answers only by their status and the resource type at their
//! beginning. The only server that it starts is a child process of the same program.

mod ask;
mod connect;
mod error;
mod hostile;
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
