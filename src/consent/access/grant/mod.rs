//! Grants for a patient's consent: authorization codes and public tokens, exchanged once for access tokens and families
//! of refresh tokens.
//!
//! Each exchange is one transaction of the store. If two requests use the same secret at once, only one gets a grant.
//! An access token is signed after its transaction, so that signing does not block the store. A token that was not
//! recorded is never issued. Other rooms decide the form of requests and refusals.

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
