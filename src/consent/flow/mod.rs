//! A patient's way through the consent flow: the application's request, the current step, and the changes of each step.
//!
//! A step is one transaction over the session, the consent and its authorizations. Only `moves` changes their states.
//! Other rooms decide what the patient sees and how sources are called.

mod attempt;
mod authorizing;
mod end;
mod progress;
mod request;
mod session;
mod session_key;
mod steps;

pub use attempt::{Attempt, Attempts, Returned};
pub use end::Ended;
pub use progress::{Asked, Details, Progress, RecordLocation, Step, Trouble, Verified};
pub use request::{Display, Door, FlowRequest, Hints, Holder, Way};
pub(super) use session::KEPT;
pub use session::{Begun, Flow, FlowError, Flows};
pub use session_key::SessionKey;
pub use steps::{Departure, SourceGrant};
