//! Serving processes: one that is killed, two over the same folder, and one over a copy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use tabularium::consent::{
    Actor, Clock, DeliveryFilter, DeliveryState, KEY_FILE, Outcome, STORE_FILE, Settled, Store, copy_store,
};
use tabularium::lake::Lake;

use super::world::{accepting, messages, until};
use crate::harness::consented::{App, Flow};
use crate::harness::kind;
use crate::harness::process::Process;
use crate::harness::rogue::{Rogue, Said};

/// A data folder with an application that has one receiver.
struct Folder {
    folder: tempfile::TempDir,
    lake: Lake,
    store: Store,
    app: App,
}

impl Folder {
    fn new(receiver: &Rogue) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let lake = kind::open_or_create(folder.path());
        let store = Store::open(folder.path(), Clock::System).unwrap();
        let app = App::register(&store, "portal");
        store.webhooks().add(&app.id, &receiver.base, Actor::Operator).unwrap();
        Folder {
            folder,
            lake,
            store,
            app,
        }
    }

    fn serve(&self) -> Process {
        let data = self.folder.path().to_str().unwrap();
        Process::start(&[
            "serve",
            "--data",
            data,
            "--listen",
            "127.0.0.1:0",
            "--allow-private-sources",
        ])
    }

    /// Makes one event.
    fn revoke(&self) {
        let finished = Flow::of(&self.app).finish_in(&self.store, &self.lake);
        let revoked = self.store.consents().revoke(&finished.consent, Actor::Application);
        assert_eq!(revoked.unwrap(), 1);
    }

    fn delivered(&self) -> usize {
        let filter = DeliveryFilter {
            state: Some(DeliveryState::Delivered),
            limit: 1_000,
            ..DeliveryFilter::default()
        };
        self.store.webhooks().deliveries(&filter).unwrap().len()
    }
}

/// A process was killed after its receiver had the message and before it had noted so.
#[test]
fn a_kill_before_the_note_of_a_delivery_delivers_again() {
    let (came, comes) = mpsc::channel();
    let is_dead = Arc::new(AtomicBool::new(false));
    let dead = is_dead.clone();
    let came = std::sync::Mutex::new(came);
    let receiver = Rogue::start(move |_, _| {
        let _ = came.lock().unwrap().send(());
        // The answer comes only after the kill.
        until("the kill", || dead.load(Ordering::SeqCst));
        Said::status(200)
    });
    let folder = Folder::new(&receiver);
    let process = folder.serve();
    folder.revoke();
    comes.recv().unwrap();
    drop(process);
    is_dead.store(true, Ordering::SeqCst);
    assert_eq!(folder.delivered(), 0);
    let again = folder.serve();
    until("the delivery", || folder.delivered() == 1);
    let sent = messages(&receiver, 2);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].header("webhook-id"), sent[1].header("webhook-id"));
    assert_eq!(sent[0].body, sent[1].body);
    assert_eq!(again.terminate(), Some(0));
}

#[test]
fn of_two_processes_over_a_folder_one_delivers() {
    let receiver = accepting();
    let folder = Folder::new(&receiver);
    let (one, other) = (folder.serve(), folder.serve());
    for _ in 0..20 {
        folder.revoke();
    }
    until("all deliveries", || folder.delivered() == 20);
    assert_eq!(receiver.asked().len(), 20);
    // The other one takes over.
    assert_eq!(one.terminate(), Some(0));
    folder.revoke();
    until("another delivery", || folder.delivered() == 21);
    assert_eq!(receiver.asked().len(), 21);
    assert_eq!(other.terminate(), Some(0));
}

/// A restored store has deliveries that were made after its backup. They are made once more, and not for ever.
#[test]
fn a_copied_store_delivers_once_more() {
    let receiver = accepting();
    let folder = Folder::new(&receiver);
    folder.revoke();
    let copy = tempfile::tempdir().unwrap();
    assert!(copy_store(folder.folder.path(), &copy.path().join(STORE_FILE)).unwrap());
    std::fs::copy(folder.folder.path().join(KEY_FILE), copy.path().join(KEY_FILE)).unwrap();
    let copied = Store::open(copy.path(), Clock::System).unwrap();
    let first = |store: &Store| {
        let due = store.webhooks().due(9).unwrap();
        let message = store.webhooks().outgoing(due[0].delivery).unwrap().unwrap();
        let settled = store
            .webhooks()
            .settle(due[0].delivery, &Outcome::Accepted(200))
            .unwrap();
        assert_eq!((due.len(), settled), (1, Settled::Delivered));
        (message.event, message.body, message.secrets)
    };
    assert_eq!(first(&folder.store), first(&copied));
    for store in [&folder.store, &copied] {
        assert_eq!(store.webhooks().due(9).unwrap(), []);
    }
}
