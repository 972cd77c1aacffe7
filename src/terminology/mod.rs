//! The one terminology of the program: displays, membership in value sets, hierarchies of codes, and what drug codes
//! mean.
//!
//! It has three sources: files given on the command line (`--terminology`), tables beside the lake that `tabularium
//! terminology load` makes of publishers' files, and HL7's own code systems, which come with the program. What they
//! leave open stays open: every answer is yes, no or not known. A code system that is not given, or only in part, is no
//! reason to say no. Nothing is fetched.

mod builder;
mod builtin;
mod code_system;
mod drugs;
mod error;
mod files;
mod filter;
mod folder;
mod links;
pub mod load;
mod ndc;
mod properties;
mod raw;
mod snapshot;
mod stored_sets;
pub mod systems;
mod table;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod terminology;
mod texts;
mod truth;
mod value_set;
mod version;

pub use code_system::{CodeSystem, Contents};
pub use error::TerminologyError;
pub use folder::{Folder, List, SetsEntry, TableEntry};
pub use ndc::eleven_digits;
pub use terminology::Terminology;
pub use value_set::{Lacking, ValueSet};
