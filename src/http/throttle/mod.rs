//! Rate limits for each credential, and for each address without a credential: token buckets, which fill up evenly and
//! hold some seconds' worth.
//!
//! A request without a credential is charged to its address. One with a valid token is charged to the consent or
//! application key of the token. One with an invalid credential is charged to its address, so that guessing is not
//! free.

mod allowance;
mod buckets;
mod peer;

pub(super) use allowance::{Allowance, Meter};
pub(super) use buckets::Throttle;
pub(super) use peer::{ClientAddress, Peer, client_address, subscriber};
