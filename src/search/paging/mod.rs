//! Paging: the position of a request among the pages, and the links and tokens that carry it.

pub(super) mod boundary;
pub(super) mod links;
pub(super) mod page_token;
pub(super) mod position;
pub(super) mod snapshot_token;
