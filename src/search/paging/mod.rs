//! Paging: the position of a request among the pages of a search, and the links and tokens that carry this position.

pub(super) mod boundary;
pub(super) mod links;
pub(super) mod page_token;
pub(super) mod position;
pub(super) mod snapshot_token;
