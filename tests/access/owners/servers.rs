//! Two servers: one with everybody's records, and one that never had other people's.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tabularium::consent::LOCAL_APPLICATION;
use tabularium::ingest::{Options, Session};
use tabularium::lake::clock::ManualClock;
use tabularium::lake::{Lake, LakeOptions, Mode};

use super::records::{Shown, mark, records, visible};
use crate::harness::server::Server;

/// The address of all servers here. A summary's ids depend on it.
pub(super) const BASE: &str = "https://records.example";

/// An empty lake with a clock that stands still, so that two lakes have the same times.
fn empty_lake(folder: &tempfile::TempDir) -> Lake {
    let options = LakeOptions {
        clock: Arc::new(ManualClock::at(1_800_000_000_000_000)),
        ..crate::harness::kind::options()
    };
    Lake::create_with(folder.path(), options).unwrap()
}

fn import(lake: &Lake, mode: Mode, application: &str, resources: impl Iterator<Item = Value>) {
    let mut writer = lake.writer().unwrap();
    let options = Options {
        mode,
        application: application.to_owned(),
        ..Options::default()
    };
    let mut session = Session::begin(&mut writer, options).unwrap();
    for resource in resources {
        session.add_document(resource.to_string().as_bytes()).unwrap();
    }
    assert_eq!(session.finish().unwrap().refused, 0);
}

/// A server with everybody's records, and one with Ann's alone.
pub(super) struct Servers {
    pub(super) whole: Server,
    pub(super) alone: Server,
    /// The tokens of the whole server, with the records that each may see.
    pub(super) tokens: BTreeMap<&'static str, (String, Shown)>,
    pub(super) anns_alone: String,
}

pub(super) fn servers() -> Servers {
    let folder = tempfile::tempdir().unwrap();
    let lake = empty_lake(&folder);
    let places = [
        ("local", Mode::Live, LOCAL_APPLICATION),
        ("other", Mode::Live, "other"),
        ("test", Mode::Test, LOCAL_APPLICATION),
    ];
    for (label, mode, application) in places {
        let resources = records(label).into_iter().map(|(_, resource)| resource);
        import(&lake, mode, application, resources);
    }
    let whole = Server::at(folder, lake, BASE);
    whole.store.applications().register("other").unwrap();
    let mut tokens = BTreeMap::new();
    let all = |label: &str| {
        records(label)
            .iter()
            .map(|(_, resource)| mark(resource))
            .collect::<Shown>()
    };
    let some = |label: &str, id: &str| visible(&records(label), id).iter().map(mark).collect::<Shown>();
    let patient = |application: &str, mode, id: &str| whole.tokens.for_patient(application, mode, id).unwrap().token;
    let application = |application: &str| whole.tokens.for_application(application, Mode::Live).unwrap().token;
    tokens.insert("all", (application(LOCAL_APPLICATION), all("local")));
    tokens.insert(
        "ann",
        (patient(LOCAL_APPLICATION, Mode::Live, "ann"), some("local", "ann")),
    );
    tokens.insert(
        "ben",
        (patient(LOCAL_APPLICATION, Mode::Live, "ben"), some("local", "ben")),
    );
    tokens.insert("others", (application("other"), all("other")));
    tokens.insert("other ann", (patient("other", Mode::Live, "ann"), some("other", "ann")));
    tokens.insert(
        "test ann",
        (patient(LOCAL_APPLICATION, Mode::Test, "ann"), some("test", "ann")),
    );
    let folder = tempfile::tempdir().unwrap();
    let lake = empty_lake(&folder);
    let anns = visible(&records("local"), "ann").into_iter();
    import(&lake, Mode::Live, LOCAL_APPLICATION, anns);
    let alone = Server::at(folder, lake, BASE);
    let anns_alone = alone.patient_token("ann");
    Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    }
}
