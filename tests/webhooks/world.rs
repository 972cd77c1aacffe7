//! A service with a deliverer, consents whose state changes, and receivers whose answers a test defines.

use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tabularium::consent::{Actor, Delivery, DeliveryFilter, JobReport, JobSuccess, Missing, MissingReason, Store};
use tabularium::sync::client::Guard;
use tabularium::webhooks::{Deliverer, Settings};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::harness::consented::{App, Finished, Flow};
use crate::harness::rogue::{Asked, Rogue, Said};
use crate::harness::server::Server;

/// Even on a slow machine, anything that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// A service over an empty lake, with a registered application.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) app: App,
    runtime: Runtime,
    works: watch::Sender<bool>,
    deliverer: Option<Deliverer>,
}

impl World {
    /// A service that does not deliver.
    pub(super) fn idle() -> World {
        let server = Server::start(&[]);
        let app = App::register(&server.store, "portal");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        World {
            server,
            app,
            runtime,
            works: watch::channel(true).0,
            deliverer: None,
        }
    }

    /// A service that delivers to loopback addresses.
    pub(super) fn new() -> World {
        let mut world = World::idle();
        world.deliver(Guard::Private, Settings::default());
        world
    }

    /// Starts a deliverer.
    pub(super) fn deliver(&mut self, guard: Guard, settings: Settings) {
        let _runtime = self.runtime.enter();
        let started = Deliverer::start(self.server.store.clone(), guard, self.works.subscribe(), settings);
        self.deliverer = Some(started.unwrap());
    }

    pub(super) fn store(&self) -> &Store {
        &self.server.store
    }

    /// Adds a receiver to the application. Returns its secret.
    pub(super) fn add(&self, url: &str) -> String {
        let added = self.store().webhooks().add(&self.app.id, url, Actor::Operator);
        added.unwrap().secret
    }

    /// A consent whose tokens the application has, with one sync job.
    pub(super) fn exchanged(&self) -> Finished {
        self.exchanged_by(&Flow::of(&self.app))
    }

    pub(super) fn exchanged_by(&self, flow: &Flow<'_>) -> Finished {
        let finished = flow.finish(&self.server);
        finished.tokens(&self.server);
        finished
    }

    /// Begins the sync of a consent that was made by an exchange. Returns the id of the job.
    pub(super) fn begin_sync(&self, finished: &Finished) -> String {
        let jobs = self.store().jobs();
        jobs.due(100, 100).unwrap();
        let job = jobs.of_authorization(&finished.authorizations[0]).unwrap().remove(0);
        assert!(jobs.begin(&job.id).unwrap().is_some());
        job.id
    }

    /// Completes the sync of a consent. Returns the id of the job.
    pub(super) fn sync(&self, finished: &Finished) -> String {
        let job = self.begin_sync(finished);
        assert!(self.store().jobs().complete(&job, "stored").unwrap());
        job
    }

    /// Completes the sync of a consent with missing records: two types that failed and one that is forbidden.
    pub(super) fn sync_with_gaps(&self, finished: &Finished) -> String {
        let job = self.begin_sync(finished);
        let report = JobReport {
            missing: vec![
                missing("Observation", None, MissingReason::Failed),
                missing("Condition", Some("category=problem-list-item"), MissingReason::Failed),
                missing("Condition", Some("category=encounter-diagnosis"), MissingReason::Failed),
                missing("Coverage", None, MissingReason::Forbidden),
            ],
            ..JobReport::default()
        };
        let success = JobSuccess {
            report: Some(&report),
            ..JobSuccess::from("stored")
        };
        assert!(self.store().jobs().complete(&job, success).unwrap());
        job
    }

    /// Makes events of a consent: its sync is completed, and then it is revoked.
    pub(super) fn sync_and_revoke(&self, finished: &Finished) {
        self.sync(finished);
        self.revoke(finished);
    }

    pub(super) fn revoke(&self, finished: &Finished) {
        let revoked = self.store().consents().revoke(&finished.consent, Actor::Application);
        assert_eq!(revoked.unwrap(), 1);
    }

    /// The deliveries of the application, oldest first.
    pub(super) fn deliveries(&self) -> Vec<Delivery> {
        let filter = DeliveryFilter {
            limit: 10_000,
            ..DeliveryFilter::default()
        };
        let mut deliveries = self.store().webhooks().deliveries(&filter).unwrap();
        deliveries.reverse();
        deliveries
    }

    /// The number from a query.
    pub(super) fn count(&self, sql: &str) -> i64 {
        let file = rusqlite::Connection::open(self.server.folder().join("service.sqlite")).unwrap();
        file.busy_timeout(PATIENCE).unwrap();
        file.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Runs statements on the store's file.
    pub(super) fn sql(&self, sql: &str) {
        let file = rusqlite::Connection::open(self.server.folder().join("service.sqlite")).unwrap();
        file.busy_timeout(PATIENCE).unwrap();
        file.execute_batch(sql).unwrap();
    }

    /// The audit entries of this kind, newest first, each as its detail.
    pub(super) fn audited(&self, action: &str) -> Vec<String> {
        let entries = self.store().audit().newest(None, 10_000).unwrap();
        let found = entries.into_iter().filter(|entry| entry.action == action);
        found.map(|entry| entry.detail).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(deliverer) = self.deliverer.take() {
            self.runtime.block_on(deliverer.stop());
        }
    }
}

fn missing(resource_type: &str, part: Option<&str>, reason: MissingReason) -> Missing {
    Missing {
        resource_type: resource_type.to_owned(),
        part: part.map(str::to_owned),
        reason,
        status: None,
        records: None,
        detail: "does not say why".to_owned(),
        again: false,
    }
}

/// Waits until a condition holds.
pub(super) fn until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A receiver that accepts everything.
pub(super) fn accepting() -> Rogue {
    Rogue::start(|_, _| Said::status(204))
}

/// A receiver that always answers with this status.
pub(super) fn answering(status: u16) -> Rogue {
    Rogue::start(move |_, _| Said::status(status))
}

/// Waits for this many messages, and returns them.
pub(super) fn messages(receiver: &Rogue, count: usize) -> Vec<Asked> {
    until("messages", || receiver.asked().len() >= count);
    receiver.asked()
}

/// The body of a message.
pub(super) fn body(message: &Asked) -> Value {
    serde_json::from_str(&message.body).unwrap()
}

/// The type of a message's event.
pub(super) fn event_type(message: &Asked) -> String {
    body(message)["type"].as_str().unwrap().to_owned()
}

/// Whether a signature of a message is that of this secret.
pub(super) fn is_signed_by(message: &Asked, secret: &str) -> bool {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let (id, time) = (message.header("webhook-id"), message.header("webhook-timestamp"));
    let signed = format!("{id}.{time}.{}", message.body);
    message.header("webhook-signature").split(' ').any(|one| {
        let signature = STANDARD.decode(one.strip_prefix("v1,").unwrap()).unwrap();
        hmac::verify(&key, signed.as_bytes(), &signature).is_ok()
    })
}
