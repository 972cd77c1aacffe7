//! Where in a walk over pages a request stands, and the links and tokens that say so.

pub(super) mod boundary;
pub(super) mod links;
pub(super) mod page_token;
pub(super) mod pin;
pub(super) mod position;
