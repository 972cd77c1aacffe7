//! FHIR search: turns raw parameters into a checked query, the query into matches, and the matches into a page.
//!
//! This module decides which rows match a query, in which order, and what a page shows. FHIRPath programs yield the
//! values of a search parameter. The lake's scan decides which rows a caller may see. The module `http` turns errors
//! into status codes and OperationOutcomes.

mod bundle;
mod criteria;
mod engine;
mod error;
mod includes;
mod joins;
mod note;
mod paging;
mod parameters;
mod record;
mod run;
pub mod written;

pub use crate::lake::scan::Stop;
pub use bundle::attached::{AddressSigner, with_addresses, with_base};
pub use bundle::subset::Subset;
pub use engine::{Engine, MAX_PAGE_BYTES, WorkLimits};
pub use error::SearchError;
pub use includes::included::IncludeLimits;
pub use note::Note;
pub use paging::snapshot_token::SnapshotToken;
pub use parameters::declared::{COMMON, Common, PREFIXES};
pub use parameters::filter_expression::with_alternatives;
pub use parameters::raw;
pub use parameters::raw::Handling;
pub use parameters::repeated::distinct;
pub(crate) use parameters::result::shortened;
pub use parameters::result::{DEFAULT_COUNT, MAX_COUNT};
pub use record::page::{Gathered, RecordPage};
pub use record::request::{Extent, Member, RecordRequest};
pub use run::explain::explanation::{Explanation, Form};
pub use run::single_type::Request;
pub use run::system::SystemRequest;
