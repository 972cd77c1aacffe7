//! `$summary`: a person's records as an International Patient Summary (IPS 2.0.1), a document for clinicians.
//!
//! Decides which records are relevant to which of 14 sections, their readable form, and the content of the document's
//! Bundle. Except `gather`, which reads the lake, it is pure: it takes records and returns the text of a Bundle. It
//! does not draw a PDF: the caller passes one to [`Summary::bundle`].

mod asked;
mod bundle;
mod error;
mod gather;
mod json;
mod list;
mod record;
mod references;
mod request;
mod sections;
mod shared;
mod table;

pub use asked::Asked;
pub use bundle::{Directory, Rendering, Request, SectionContent, Summary, summarize};
pub use error::SummaryError;
pub use gather::{Subject, summary};
pub use record::Record;
pub use request::{Sections, UnknownSection};
