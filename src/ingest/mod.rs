//! Imports records into the lake: reads NDJSON, Bundles and single resources, resolves references, files each resource
//! under a person, assigns its version, and commits all of them as one snapshot.
//!
//! It decides which resources to refuse, their ids and references, their persons, and whether their content changed. It
//! does not know how a resource becomes columns (`columns::shred`) or what a snapshot is (`lake::catalog`). It checks
//! resources against R4's definitions only as far as it needs them.

mod contexts;
mod error;
mod input;
mod options;
mod references;
mod rows;
mod rules;
mod sequence;
mod session;
mod summary;
mod sync;

pub use error::{IngestError, Reason, Refusal};
pub use input::filing::{patient_of, patient_properties};
pub use input::pending::{LARGEST_DOCUMENT, Spare};
pub use input::source::{Fault, Piece, Pieces, Text, find, input_size};
pub use options::{LOCAL_APPLICATION, Limits, Options};
pub use rules::{Change, Normalization, Observer};
pub use session::{Session, import, normalize_again, sync};
pub use summary::{Counts, REFUSALS_KEPT, Summary};
pub use sync::base::{SourceBase, is_under};
pub use sync::synced::{Synced, SyncedAttachment, addresses, source_target};
