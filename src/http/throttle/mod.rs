//! How often one credential, or one address without a credential, may ask: token buckets, which fill up evenly and hold
//! some seconds' worth.
//!
//! A request that brings no credential is charged to its address; one whose token is good is charged to what the token
//! stands for, a consent or an application's key; one whose credential is refused is charged to its address, too, so
//! that guessing is not free. What is answered, and by whom, is decided elsewhere.

mod allowance;
mod buckets;
mod peer;

pub(super) use allowance::{Allowance, Meter};
pub(super) use buckets::Throttle;
pub(super) use peer::{ClientAddress, Peer, client_address, subscriber};
