//! The consent flow of a patient: the application's request, the current step, and the changes of each step.
//!
//! A step is one transaction over the session, the consent and its authorizations. The states of consents and
//! authorizations change only by the methods of `moves`. What the patient sees is decided in `http`, and how sources
//! are called in `sync`.

mod attempt;
mod authorizing;
mod clear_sessions;
mod end;
mod progress;
mod request;
mod session;
mod session_key;
mod session_row;
mod steps;

pub use attempt::{Attempt, Attempts, Returned};
pub(super) use clear_sessions::seal_clear_sessions;
pub use end::Ended;
pub use progress::{Asked, Details, Progress, RecordLocation, Step, Trouble, Verified};
pub use request::{Display, Door, FlowRequest, Hints, Holder, Way};
pub use session::{Begun, Flow, FlowError, Flows};
pub(super) use session::{KEPT, end_left, forget_revoked_sessions};
pub use session_key::SessionKey;
pub(super) use session_row::{discard_unreadable_sessions, forget_closed_sessions, forget_sessions};
pub use steps::{Departure, SourceGrant};
