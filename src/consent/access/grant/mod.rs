//! What applications are given for a patient's consent: authorization codes and public tokens, exchanged once for
//! access tokens and families of refresh tokens.
//!
//! Everything is one transaction of the store, so of two that come at once with the same secret one gets something. An
//! access token is signed once its transaction has ended: what signs does not hold up the store, and a token that was
//! never recorded is never given out. What a request looks like, and how a refusal goes out, is not decided here.

mod application;
mod caller;
mod code;
mod error;
mod exchange;
mod family;
mod refresh;
mod revoke;

pub use caller::Caller;
pub use code::NewCode;
pub(in crate::consent) use code::{issue_code, issue_public_token};
pub use error::GrantError;
pub use exchange::Granted;
pub use refresh::Resync;
pub use revoke::Revoked;

/// How long a refresh token, and with it the right to refresh, lives.
pub const REFRESH_SECONDS: i64 = 7_776_000;
/// How long after its use a secret that comes again is taken for a client's own retry, which is refused and ends
/// nothing.
const RETRY_SECONDS: i64 = 10;
