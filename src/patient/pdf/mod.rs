//! `$pdf`: a patient's records as one PDF file with a part for each source, or as a ZIP archive with a file for each
//! source.
//!
//! Decides the section of a resource, the columns of a section, and the place of attached documents. The module
//! [`crate::pdf`] decides the layout. Every resource is shown: one that belongs to no section is among the other
//! records, element by element.

pub mod apart;
mod attached;
mod build;
mod cells;
mod gate;
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

pub use apart::{Reader, made, quickly};
pub use attached::{Attached, Documents, FetchError, addresses};
pub use build::{Export, Form, Part};
pub use gather::gather;
pub use held::{Held, binary_id};
pub use source::{Source, SourceKind, endpoint_of};
pub use summary::rendering;

pub use crate::pdf::{PdfError, Stop};
