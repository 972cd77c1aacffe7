//! Limits the rate of requests for each credential, and for each address. The limits are token buckets: they fill
//! evenly, up to a maximum.
//!
//! A request with a valid token is charged to its consent or application key. A request without a credential or with
//! an invalid one is charged to its address. So guessing credentials is limited, too.

mod allowance;
mod buckets;
mod peer;

pub(super) use allowance::{Allowance, Meter};
pub(super) use buckets::Throttle;
pub(super) use peer::{ClientAddress, Peer, client_address, subscriber};
