//! Checks a lake: the catalog against its own rules and its mark, every file against the catalog's record of it, and
//! the data folder against the files that the catalog names.
//!
//! A check changes nothing, and it works while another process writes. It reports faults file by file ([`Finding`]).
//! The operator decides what to do. [`adopt()`] makes a new catalog from the files.

mod adopt;
mod attachments;
mod binaries;
mod candidate;
mod choice;
mod columns;
mod file;
mod report;
mod run;
mod stored;

pub use adopt::{Adopted, adopt, adopt_with};
pub(super) use binaries::unattached;
pub use report::{Depth, Finding, Problem, Report};
pub(super) use run::inspect;
pub use run::{check, check_to, check_with};
