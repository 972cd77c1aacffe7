//! Builds the document: the Composition, the entries, and the resources that the summary adds.

mod complete;
mod composition;
mod confidentiality;
mod document;
mod made;
mod write;

pub use composition::SectionContent;
pub use document::{Request, Summary, summarize};
pub use made::{Directory, Rendering};
