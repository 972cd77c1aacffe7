//! Grants for a patient's consent: authorization codes, public tokens and refresh tokens. Each can be exchanged once,
//! for an access token and the next refresh token of its family.
//!
//! Each exchange is one transaction of the store, so of two requests with the same secret only one gets a grant. The
//! access token is signed after the transaction, so that signing does not block the store. By then the transaction has
//! recorded the token, so no unrecorded token is issued. The form of requests and refusals is decided in `http`.

mod application;
mod caller;
mod code;
mod error;
mod exchange;
mod family;
mod refresh;
mod revoke;

pub use caller::Caller;
pub use code::{Codes, NewCode};
pub(in crate::consent) use code::{issue_code, issue_public_token};
pub use error::GrantError;
pub use exchange::Granted;
pub use refresh::Resync;
pub use revoke::Revoked;
