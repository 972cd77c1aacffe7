//! The terminology of the program: displays, membership in value sets, hierarchies of codes, and the meaning of drug
//! codes.
//!
//! The terminology has three sources: files given on the command line (`--terminology`), tables beside the lake that
//! `tabularium terminology load` makes of publishers' files, and HL7's own code systems in the program. Every answer is
//! yes, no or unknown. It is unknown if these sources do not decide a question: a missing or partial code system is no
//! reason to answer no. Nothing is fetched from other servers.

mod builtin;
pub mod codes;
mod error;
mod files;
mod folder;
pub mod load;
mod sets;
mod snapshot;
mod system;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod terminology;

pub use codes::ndc::eleven_digits;
pub use error::TerminologyError;
pub use folder::{Folder, List, SetsEntry, TableEntry};
pub use sets::value_set::{Lacking, ValueSet};
pub use system::code_system::{CodeSystem, Contents};
pub use terminology::Terminology;
