//! How one type is searched: page by page and by sizes of pages that the source takes, with Provenance along, and by
//! narrower searches where it refuses one for all. A source that refuses everything alike is not asked again and again.

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
