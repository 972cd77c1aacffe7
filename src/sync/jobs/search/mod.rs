//! Searches one type: page by page, with a page size that the source accepts, and with Provenance. If the source
//! refuses the search for all records, narrower searches are tried. A source that refuses everything for the same
//! reason gets no further searches.

mod along;
mod ask;
mod filters;
mod loss;
mod narrow;
mod page;
mod pages;
mod parts;
mod refusals;

pub(super) use along::Along;
pub(super) use ask::{Asked, Reply};
pub(super) use loss::{Loss, Losses};
pub(super) use page::{NoPage, Page, Record, record, references};
pub(super) use pages::PageSizes;
pub(super) use parts::Whole;
pub(super) use refusals::Refusals;
