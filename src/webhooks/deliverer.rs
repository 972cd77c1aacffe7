//! The deliverer of a serving process: attempts the deliveries that are due. Of several processes over one folder one
//! delivers: the one whose sync worker holds the spool.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};

use super::attempt::attempt;
use super::places::Places;
use super::settings::Settings;
use crate::consent::{DueDelivery, Error, Outcome, Settled, Store};
use crate::sync::client::{Client, Error as ClientError, Guard};

/// How often the deliverer looks for due deliveries, unless an event wakes it earlier.
const TICK: Duration = Duration::from_secs(1);
/// How long a stopping deliverer waits for running attempts. What is cut off is delivered again later.
const LAST: Duration = Duration::from_secs(2);
/// An attempt that takes longer counts as a failure where places are given out.
const PROMPT: Duration = Duration::from_secs(2);
/// The pause before a delivery is looked at again if the store could not be read or written.
const PAUSE: Duration = Duration::from_secs(5);

/// A running deliverer.
#[derive(Debug)]
pub struct Deliverer {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Deliverer {
    /// Starts a deliverer on the current runtime. It delivers while `works` is true, and ends when this channel closes.
    pub fn start(
        store: Arc<Store>,
        guard: Guard,
        works: watch::Receiver<bool>,
        settings: Settings,
    ) -> Result<Deliverer, ClientError> {
        let client = Client::new(guard, settings.http())?;
        let (stop, stopped) = watch::channel(false);
        let running = Running {
            store,
            client,
            of_receiver: settings.of_receiver,
            places: Places::new(settings),
            tasks: JoinSet::new(),
            attempted: HashMap::new(),
        };
        Ok(Deliverer {
            stop,
            task: tokio::spawn(deliver(running, works, stopped)),
        })
    }

    /// Stops the deliverer. Running attempts get two more seconds.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        // A panic of the deliverer is already logged.
        let _ = self.task.await;
    }
}

async fn deliver(mut running: Running, mut works: watch::Receiver<bool>, mut stopped: watch::Receiver<bool>) {
    while !*works.borrow_and_update() {
        tokio::select! {
            _ = stopped.changed() => return,
            changed = works.changed() => if changed.is_err() { return },
        }
    }
    let notified = running.store.delivery_wakeup();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = stopped.changed() => break,
            _ = works.changed() => break,
            () = notified.notified() => {}
            _ = tick.tick() => {}
            Some(ended) = running.tasks.join_next_with_id(), if !running.tasks.is_empty() => running.note(ended),
        }
        running.begin_what_is_due().await;
    }
    let rest = async { while running.tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST, rest).await;
    running.tasks.shutdown().await;
}

/// The running attempts.
struct Running {
    store: Arc<Store>,
    client: Client,
    of_receiver: usize,
    places: Places,
    /// Each task returns whether the receiver has accepted the message within [`PROMPT`].
    tasks: JoinSet<bool>,
    /// The delivery of each task.
    attempted: HashMap<Id, DueDelivery>,
}

impl Running {
    /// Gives the place of an attempt back. One that panicked has failed, and is already logged.
    fn note(&mut self, ended: Result<(Id, bool), JoinError>) {
        let (task, is_prompt) = ended.unwrap_or_else(|error| (error.id(), false));
        if let Some(due) = self.attempted.remove(&task) {
            self.places.leave(&due, is_prompt);
        }
    }

    /// Starts attempts at what is due, as far as there are places.
    async fn begin_what_is_due(&mut self) {
        if self.places.is_full() {
            return;
        }
        let (store, of_receiver) = (self.store.clone(), self.of_receiver);
        let mut due = match tokio::task::spawn_blocking(move || store.webhooks().due(of_receiver)).await {
            Ok(Ok(due)) => due,
            Ok(Err(error)) => return tracing::error!(%error, "webhooks could not be looked for"),
            Err(_) => return,
        };
        self.places.sort(&mut due);
        for due in due {
            if self.places.take(&due) {
                let attempt = made(self.store.clone(), self.client.clone(), due.delivery);
                self.attempted.insert(self.tasks.spawn(attempt).id(), due);
            }
        }
    }
}

/// Makes one attempt and stores its result. Returns whether the receiver has accepted the message soon.
async fn made(store: Arc<Store>, client: Client, delivery: i64) -> bool {
    let begun = Instant::now();
    let outcome = attempted(&store, &client, delivery).await;
    let is_prompt = matches!(outcome, Ok(Some(Outcome::Accepted(_)) | None)) && begun.elapsed() < PROMPT;
    let settled = match outcome {
        Ok(Some(outcome)) => settled(&store, delivery, outcome).await,
        // The receiver was removed in the meantime.
        Ok(None) => Ok(Settled::Lost),
        Err(error) => Err(error),
    };
    match settled {
        Ok(settled) => tracing::debug!(delivery, ?settled, "a webhook was attempted"),
        Err(error) => {
            tracing::error!(%error, "a webhook could not be read or its result not stored");
            // The delivery is still due. Do not post it again and again.
            tokio::time::sleep(PAUSE).await;
        }
    }
    is_prompt
}

/// Posts a message. Returns `None` if nobody waits for it any more.
async fn attempted(store: &Arc<Store>, client: &Client, delivery: i64) -> Result<Option<Outcome>, Error> {
    let read = store.clone();
    let message = tokio::task::spawn_blocking(move || read.webhooks().outgoing(delivery)).await;
    match message {
        Ok(Ok(None)) => Ok(None),
        Ok(Ok(Some(message))) => Ok(Some(attempt(client, &message, store.clock().now()).await)),
        // The key that sealed the secret is another one. This is a failure of the delivery: it is retried and shown.
        Ok(Err(Error::Key(_))) => Ok(Some(Outcome::Failed {
            status: None,
            why: "its secret cannot be unsealed".to_owned(),
            retry_after: None,
        })),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Lost("delivery")),
    }
}

async fn settled(store: &Arc<Store>, delivery: i64, outcome: Outcome) -> Result<Settled, Error> {
    let store = store.clone();
    let settling = tokio::task::spawn_blocking(move || store.webhooks().settle(delivery, &outcome));
    settling.await.unwrap_or(Err(Error::Lost("delivery")))
}
