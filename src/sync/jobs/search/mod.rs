//! Searches one type: page by page with a size that the source accepts, with Provenance included. If the source refuses
//! the search for all, narrower ones are tried. A source that refuses everything for the same reason is not asked
//! repeatedly.

mod along;
mod ask;
mod filters;
mod narrow;
mod page;
mod pages;
mod parts;
mod refusals;

pub(super) use along::Along;
pub(super) use ask::Reply;
pub(super) use page::{Record, record, references};
pub(super) use pages::PageSizes;
pub(super) use parts::Whole;
pub(super) use refusals::Refusals;
