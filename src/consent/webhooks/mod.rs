//! Webhooks: which events an application is told, who receives them, and which deliveries wait, were made or given up.
//!
//! An event is written in the transaction that makes the move it is about ([`event`]). So no event is lost, and none is
//! sent for a move that was rolled back. This module signs and sends nothing: the room `webhooks` does.
//!
//! Invariant: no table of this module has contents of records, or the application's identifier for a user. A payload
//! gets this identifier from the consent when it is sent.

mod backoff;
mod event;
mod listener;
mod outgoing;
mod queue;
mod receiver;
mod shown;
mod sweep;

pub use event::EventType;
pub(super) use event::{tell_erased, tell_expired, tell_job_end, tell_revoked};
pub use outgoing::Outgoing;
pub use queue::{DeliveryState, DueDelivery, Outcome, ResentDeliveries, Settled};
pub use receiver::{NewReceiver, RECEIVERS, Receiver, Webhooks};
pub use shown::{Delivery, DeliveryFilter};
pub(super) use sweep::forget_old;
