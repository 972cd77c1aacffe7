//! A patient's way through the flow: what was asked for, where the way stands, and what each step changes.
//!
//! A step is one transaction over the session, the consent and its authorizations, whose states change by `moves` only.
//! What the patient sees, and how sources are talked to, is decided elsewhere.

mod attempt;
mod end;
mod progress;
mod request;
mod session;
mod steps;

pub use attempt::{Attempt, Returned};
pub use end::Ended;
pub use progress::{Asked, Details, Place, Progress, Step, Trouble, Verified};
pub use request::{Display, Door, FlowRequest, Hints, Holder, Way};
pub(super) use session::KEPT;
pub use session::{Begun, Flow, FlowError, SessionKey};
pub use steps::{Departure, SourceGrant};
