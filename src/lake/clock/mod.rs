//! The clock that stamps snapshots and measures retention, and the rule by which its time may remove something.
//!
//! A wall clock can be wrong for a moment: after a start without a battery, before the time service answers, or after
//! a mistake of the operator. What is removed then does not come back. So nothing is removed by time at one look
//! ([`TwoLooks`]).

mod source;
mod two_looks;

pub use source::{Clock, ManualClock, SystemClock};
pub use two_looks::{APART, Look, Looks, TOLERANCE, TwoLooks, Verdict};
