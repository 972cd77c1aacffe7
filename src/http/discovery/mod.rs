//! What clients find out by themselves: where to authorize, what is supported, and the keys that verify tokens. These documents, and
//! these alone, may be read by the scripts of any page.

mod described;
mod documents;
mod keys;
mod routes;

pub(super) use documents::{authorization_address, token_address};
pub(super) use routes::routes;
