//! Input to lake: reads NDJSON, Bundles and single resources, resolves references, files each resource under a person,
//! decides its version, and commits the whole as one snapshot.
//!
//! It decides what is refused, what an id and a reference become, whose a row is, and what counts as the same content.
//! It does not know how a resource becomes columns (`lake::shred`) or what a snapshot is (`lake::catalog`), and checks
//! resources against R4's definitions no further than it must.

mod block;
mod buffer;
mod chains;
mod condition;
mod contexts;
mod copy;
mod document;
mod encode;
mod error;
mod filing;
mod form;
mod identifiers;
mod known;
mod late;
mod library;
mod links;
mod marked;
mod normalize;
mod owners;
mod pending;
mod rewrite;
mod rules;
mod sequence;
mod session;
mod source;
mod spill;
mod store;
mod summary;
mod synced;
mod unfit;

pub use error::{IngestError, Reason, Refusal};
pub use filing::{patient_of, patient_properties};
pub use pending::Spare;
pub use rules::{Change, Normalization, Observer};
pub use session::{Limits, Options, Session, import, normalize_again, sync};
pub use source::{Fault, LARGEST_DOCUMENT, Piece, Pieces, Text, find, input_size};
pub use summary::{Counts, REFUSALS_KEPT, Summary};
pub use synced::{Synced, SyncedAttachment, addresses, source_target};

/// The application that imported data belongs to unless told otherwise.
pub const LOCAL_APPLICATION: &str = "local";
