//! `tabularium listen`: forwards the events of an application to an address, for development. A temporary receiver in
//! the store gets the events, from whichever process they come. Only this process delivers to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attempt::attempt;
use super::settings::Settings;
use crate::consent::{Error, EventType, NewReceiver, Outcome, Store};
use crate::sync::client::{Client, Error as ClientError, Guard};

/// How often the store is looked at. Other processes write the events.
const TICK: Duration = Duration::from_millis(200);
/// How often the lease of the receiver is renewed. The lease is several times as long.
const RENEWED: Duration = Duration::from_secs(10);
/// The maximum number of events that are read at once.
const AT_ONCE: usize = 16;

/// An event that was forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// When it was forwarded, in seconds since the Unix epoch.
    pub at: i64,
    /// The id of the event.
    pub event: String,
    /// The type of the event.
    pub event_type: EventType,
    /// The id of the event's consent.
    pub consent: String,
    /// What became of it. Nothing is retried.
    pub outcome: Outcome,
}

/// Why events are not forwarded any more.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The store refused the address, or could not be read or written.
    #[error(transparent)]
    Store(#[from] Error),
    /// The address must not be called, or the client could not be set up.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The lease has ended, because this process was stopped for too long or the clock has jumped.
    #[error("this process did not renew its lease in time; start it again")]
    Ended,
}

/// Forwards the events of an application, each once, until `stop` resolves. Calls `begun` with the secret that signs
/// them, and `forwarded` after each event.
pub async fn listen(
    store: &Arc<Store>,
    (application, url): (&str, &str),
    begun: impl FnOnce(&NewReceiver),
    forwarded: impl FnMut(&Forwarded),
    stop: impl Future<Output = ()>,
) -> Result<(), ListenError> {
    let client = Client::new(Guard::Private, Settings::default().http())?;
    client.guard().check(url)?;
    let receiver = store.webhooks().listen(application, url)?;
    begun(&receiver);
    let ended = tokio::select! {
        () = stop => Ok(()),
        ended = forward(store, &client, &receiver.id, forwarded) => ended,
    };
    store.webhooks().end_listening(&receiver.id)?;
    ended
}

async fn forward(
    store: &Arc<Store>,
    client: &Client,
    receiver: &str,
    mut forwarded: impl FnMut(&Forwarded),
) -> Result<(), ListenError> {
    let mut renewed = Instant::now();
    // Called before each attempt, too, because a slow receiver delays the next one.
    let mut renew = || {
        if renewed.elapsed() >= RENEWED {
            if !store.webhooks().keep_listening(receiver)? {
                return Err(ListenError::Ended);
            }
            renewed = Instant::now();
        }
        Ok(())
    };
    loop {
        renew()?;
        let due = store.webhooks().due_of(receiver, AT_ONCE)?;
        if due.is_empty() {
            tokio::time::sleep(TICK).await;
        }
        for due in due {
            renew()?;
            let Some(message) = store.webhooks().outgoing(due.delivery)? else {
                continue;
            };
            let at = store.clock().now();
            let outcome = attempt(client, &message, at).await;
            store.webhooks().settle_once(due.delivery, &outcome)?;
            forwarded(&Forwarded {
                at,
                event: message.event,
                event_type: message.event_type,
                consent: message.consent,
                outcome,
            });
        }
    }
}
