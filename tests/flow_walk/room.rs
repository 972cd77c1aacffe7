//! The parts that walks share: a store with its clock, an application, endpoints, and the covered rows of the tables.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use tabularium::consent::{Caller, Clock, Departure, Store, Tokens};
use tabularium::lake::Lake;

use super::table::{Moves, Trigger};
use crate::harness::consented::{App, PAYER, TestEndpoint};
use crate::harness::records;
use crate::harness::server::START;

/// The endpoints. The second one is not refreshable.
pub(super) const PLACES: [TestEndpoint; 3] = [
    PAYER,
    TestEndpoint {
        name: "once",
        refreshable: false,
        ..PAYER
    },
    TestEndpoint {
        name: "clinic",
        ..PAYER
    },
];

/// The parts that walks share.
pub(super) struct Room {
    pub(super) store: Arc<Store>,
    pub(super) tokens: Tokens,
    pub(super) lake: Lake,
    pub(super) caller: Caller,
    pub(super) endpoints: Vec<String>,
    /// The covered rows of each table.
    pub(super) met: RefCell<BTreeSet<(&'static str, usize)>>,
    _folder: tempfile::TempDir,
}

impl Room {
    pub(super) fn new() -> Room {
        let (folder, lake) = records::lake();
        let store = Arc::new(Store::open(folder.path(), Clock::at(START)).unwrap());
        let app = App::register(&store, "app");
        Room {
            tokens: Tokens::new(store.clone(), lake.clone(), "https://records.example"),
            caller: store
                .clients()
                .authenticate(&app.test.publishable, Some(&app.test.secret))
                .unwrap(),
            endpoints: PLACES.iter().map(|place| place.save(&store)).collect(),
            store,
            lake,
            met: RefCell::default(),
            _folder: folder,
        }
    }

    pub(super) fn departure(&self, at: usize) -> Departure<'_> {
        Departure {
            endpoint: &self.endpoints[at],
            authorization_type: PLACES[at].authorization_type,
            refreshable: PLACES[at].refreshable,
        }
    }

    /// Moves a state if the table has a row for the trigger.
    pub(super) fn fire(&self, what: &'static str, table: Moves, state: &mut &'static str, trigger: Trigger) -> bool {
        let row = table.iter().position(|row| (row.0, row.1) == (*state, trigger));
        if let Some(row) = row {
            *state = table[row].2;
            self.met.borrow_mut().insert((what, row));
        }
        row.is_some()
    }
}
