//! The document itself: the Composition, the entries, and what the summary makes beside the records.

mod complete;
mod composition;
mod confidentiality;
mod document;
mod made;
mod write;

pub use composition::SectionContent;
pub use document::{Request, Summary, summarize};
pub use made::{Directory, Rendering};
