//! Discovery documents for clients: where to authorize, what is supported, and the keys that verify tokens and health
//! cards. Scripts of any web page may read them.

mod cards;
mod described;
mod documents;
mod keys;
mod routes;

pub(super) use cards::card_issuer;
pub(super) use documents::{authorization_address, token_address};
pub(super) use routes::routes;
