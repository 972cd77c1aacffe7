//! `$pdf`: a patient's records as pages, one part for each source, or one file for each in a ZIP archive.
//!
//! Decides the section of a resource, the columns of a section, and the place of attached documents. The room `pdf`
//! decides the layout. Every resource is shown: one without a section of its own is among the other records, element by
//! element.

mod attached;
mod build;
mod cells;
mod gather;
mod held;
mod narrative;
mod other;
mod resource;
mod sections;
mod source;
mod structured;
mod summary;
mod typed;

pub use attached::{Attached, Documents, FetchError, addresses};
pub use build::{Export, Part, archive, document};
pub use gather::gather;
pub use held::{Held, binary_id};
pub use source::{Source, SourceKind, endpoint_of};
pub use summary::rendering;

pub use crate::pdf::{PdfError, Stop};
