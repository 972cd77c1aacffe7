//! The program as a process of its own, which is killed and started again, and what has to be true of what it leaves
//! behind.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use tabularium::consent::{Authorization, AuthorizationState, Consent, ConsentState};

use super::super::world::{Connected, PATIENCE, World, is_generated};
use crate::harness::kind::KEK;
use crate::harness::lake::{files_below, files_in_place};
use crate::harness::stored::{stored, versions};

/// An address that the system gives to nobody who asks for any, so that a service which is started again has it again.
pub(in crate::sync) fn lasting_address() -> String {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Tests that run beside each other have addresses of their own, and so, most likely, have those of another run.
    let somewhere = || (std::hash::RandomState::new().hash_one(0u8) % 22_000) as u16;
    let next = NEXT.get_or_init(|| AtomicU16::new(somewhere()));
    let port = |_| 10_000 + next.fetch_add(1, Ordering::Relaxed) % 22_000;
    let mut addresses = (0..1_000).map(port).map(|port| format!("127.0.0.1:{port}"));
    addresses.find(|address| TcpListener::bind(address).is_ok()).unwrap()
}

/// The program, serving.
pub(in crate::sync) struct Service {
    child: Child,
}

impl Service {
    pub(in crate::sync) fn start(world: &World, address: &str) -> Service {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tabularium"))
            .args([
                "serve",
                "--base-url",
                &format!("http://{address}"),
                "--allow-private-sources",
                "--syncs",
                "6",
            ])
            .args(["--address-rate-limit", "0", "--listen", address, "--data"])
            .arg(world.server.folder())
            .env(KEK.0, KEK.1)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It listens by the time it says that it serves.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("Serving "), "{line}");
        Service { child }
    }

    /// Ends it at once, whatever it is doing.
    pub(in crate::sync) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A database that nobody else writes while this is held.
pub(in crate::sync) struct Held(rusqlite::Connection);

impl Held {
    /// The service's own: no state changes.
    pub(in crate::sync) fn store(world: &World) -> Held {
        Held::file(world, "service.sqlite")
    }

    /// The lake's catalog: nothing is committed.
    pub(in crate::sync) fn catalog(world: &World) -> Held {
        Held::file(world, "catalog.sqlite")
    }

    fn file(world: &World, name: &str) -> Held {
        let held = rusqlite::Connection::open(world.server.folder().join(name)).unwrap();
        held.busy_timeout(PATIENCE).unwrap();
        held.execute_batch("BEGIN IMMEDIATE").unwrap();
        Held(held)
    }

    /// The number that a query gives as things stand.
    pub(in crate::sync) fn count(&self, sql: &str) -> i64 {
        self.0.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// Rows of the store whose states do not go together.
pub(in crate::sync) fn check_states(world: &World) {
    for (what, sql) in [
        (
            "an exchanged consent without an exchanged source and its job",
            "SELECT count(*) FROM consent WHERE state = 'EXCHANGED' AND owner IS NOT NULL AND NOT EXISTS (
                 SELECT 1 FROM patient_authorization AS auth JOIN sync_job ON sync_job.authorization = auth.id
                 WHERE auth.consent = consent.id AND auth.state IN ('EXCHANGED', 'ERRORED'))",
        ),
        (
            "a job of a source that was not exchanged",
            "SELECT count(*) FROM sync_job JOIN patient_authorization AS auth ON auth.id = authorization
             WHERE auth.state NOT IN ('EXCHANGED', 'ERRORED', 'REVOKED')",
        ),
        (
            "two jobs of one exchange",
            "SELECT count(*) FROM (SELECT 1 FROM sync_job GROUP BY authorization HAVING count(*) > 1)",
        ),
        (
            "a code that is used without an exchanged consent",
            "SELECT count(*) FROM authorization_code JOIN consent ON consent.id = consent
             WHERE (used_at IS NOT NULL) <> (consent.state IN ('EXCHANGED', 'REVOKED'))",
        ),
        (
            "an exchange that began other than one family of tokens",
            "SELECT count(*) FROM consent WHERE state = 'EXCHANGED' AND owner IS NOT NULL
             AND (SELECT count(DISTINCT family) FROM refresh_token WHERE consent = consent.id) <> 1",
        ),
        (
            // A token that comes again after a while ends its family, and a slow machine may take that while to start.
            "a family with other than one refresh token to go on with",
            "SELECT count(*) FROM (SELECT 1 FROM refresh_token JOIN consent ON consent.id = consent WHERE state = 'EXCHANGED'
                 GROUP BY family HAVING sum(used_at IS NULL) <> 1)",
        ),
        (
            "a refresh token without an access token of the same grant",
            "SELECT count(*) FROM consent WHERE state = 'EXCHANGED' AND owner IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM refresh_token WHERE consent = consent.id AND revoked_at IS NOT NULL)
             AND (SELECT count(*) FROM refresh_token WHERE consent = consent.id)
                 <> (SELECT count(*) FROM access_token WHERE consent = consent.id)",
        ),
        (
            "a source that is authorized, and nothing to fetch its records with",
            "SELECT count(*) FROM patient_authorization AS auth WHERE state = 'AUTHORIZED'
             AND NOT EXISTS (SELECT 1 FROM credential WHERE authorization = auth.id)",
        ),
        (
            "access to a source that has ended",
            "SELECT count(*) FROM credential JOIN patient_authorization AS auth ON auth.id = authorization
             WHERE auth.state NOT IN ('AUTHORIZED', 'EXCHANGED')",
        ),
        (
            "a consent that waits for its exchange without a source and a code that is not used",
            "SELECT count(*) FROM consent WHERE state = 'AUTHORIZED' AND NOT EXISTS (
                 SELECT 1 FROM patient_authorization AS auth JOIN authorization_code AS code ON code.consent = auth.consent
                 WHERE auth.consent = consent.id AND auth.state = 'AUTHORIZED' AND code.used_at IS NULL)",
        ),
        (
            "a source that is further than its consent",
            "SELECT count(*) FROM patient_authorization AS auth JOIN consent ON consent.id = consent
             WHERE consent.state = 'CREATED' AND auth.state NOT IN ('CREATED', 'AUTHORIZING', 'AUTHORIZED', 'ABANDONED', 'ERRORED')",
        ),
        (
            "a revoked consent whose records nobody was asked to erase, or with a source that goes on",
            "SELECT count(*) FROM consent WHERE state = 'REVOKED' AND (
                 NOT EXISTS (SELECT 1 FROM erasure WHERE erasure.consent = consent.id)
                 OR EXISTS (SELECT 1 FROM patient_authorization AS auth WHERE auth.consent = consent.id
                            AND auth.state IN ('CREATED', 'AUTHORIZING', 'AUTHORIZED', 'EXCHANGED'))
                 OR EXISTS (SELECT 1 FROM sync_job JOIN patient_authorization AS auth ON auth.id = authorization
                            WHERE auth.consent = consent.id AND sync_job.state NOT IN ('COMPLETED', 'FAILED')))",
        ),
        (
            "an end that nobody brought about",
            "SELECT count(*) FROM consent WHERE state NOT IN ('CREATED', 'AUTHORIZED', 'EXCHANGED', 'REVOKED')",
        ),
        (
            "a job that failed of itself, or a state that is none",
            "SELECT count(*) FROM sync_job JOIN patient_authorization AS auth ON auth.id = authorization
             WHERE sync_job.state NOT IN ('CREATED', 'WAITING', 'ACTIVE', 'COMPLETED')
               AND (sync_job.state <> 'FAILED' OR auth.state NOT IN ('REVOKED', 'ERRORED'))",
        ),
    ] {
        assert_eq!(world.count(sql), 0, "{what}");
    }
}

/// How many rows each owner had when somebody looked.
pub(in crate::sync) type Seen = BTreeMap<i64, usize>;

/// What a killed service leaves to see, before anybody tidies up.
pub(in crate::sync) fn see(world: &World) -> Seen {
    world.lake().refresh().unwrap();
    let rows = versions(world.lake());
    rows.into_iter().map(|(owner, rows)| (owner, rows.len())).collect()
}

/// Every consent with its source. The operator's own have none.
pub(in crate::sync) fn consents(world: &World) -> Vec<(Consent, Option<Authorization>)> {
    let store = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    store.busy_timeout(PATIENCE).unwrap();
    let mut statement = store.prepare("SELECT id FROM consent WHERE owner IS NOT NULL").unwrap();
    let ids = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let consent = |id: String| {
        let consent = world.store().consents().get(&id).unwrap().unwrap();
        (consent, world.store().authorizations().of_consent(&id).unwrap().pop())
    };
    ids.map(Result::unwrap).map(consent).collect()
}

/// Looks at what is stored when all work is done: whose flow came to its end has all that the source has, once, and
/// others have nothing; no look that was taken meanwhile saw a part of that.
pub(in crate::sync) fn check_records(world: &World, looks: &[Seen]) {
    world.lake().refresh().unwrap();
    let rows = versions(world.lake());
    let generated: BTreeSet<String> = stored(world.lake())
        .into_iter()
        .filter(|(_, row)| is_generated(row))
        .map(|(identity, _)| format!("{}/{}", identity.2, identity.3))
        .collect();
    let mut sources: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (consent, authorization) in consents(world) {
        let owner = consent.owner.unwrap();
        let seen = looks.iter().filter_map(|look| look.get(&owner));
        let Some(authorization) = authorization.filter(|one| one.exchanged_at.is_some()) else {
            assert!(!rows.contains_key(&owner), "records of a flow that did not end");
            assert_eq!(seen.count(), 0, "records of a flow that did not end were seen");
            continue;
        };
        if consent.state != ConsentState::Exchanged || authorization.state != AuthorizationState::Exchanged {
            assert!(!rows.contains_key(&owner), "records of a consent that has ended");
            continue;
        }
        let (endpoint, patient) = (authorization.endpoint, authorization.source_patient.unwrap());
        let credential = world.store().credentials().get(&authorization.id).unwrap().unwrap();
        let source = sources
            .entry((endpoint.clone(), patient.clone()))
            .or_insert_with(|| world.names_at(&endpoint, &patient, &credential.access_token));
        assert!(source.len() > 10, "{} records", source.len());
        let here = |name: &String| {
            let (ty, id) = name.split_once('/').unwrap();
            (format!("{ty}/{}", world.lake().synced_id(owner, &endpoint, ty, id)), 1)
        };
        // What was stored twice would be a version of itself.
        let expected: BTreeMap<String, i64> = source.iter().map(here).collect();
        let found = rows.get(&owner).cloned().unwrap_or_default();
        let missing: Vec<_> = expected
            .iter()
            .filter(|(name, version)| found.get(*name) != Some(version))
            .collect();
        // What rules made of the source's records was made once, with them.
        let is_made = |name: &String, version: i64| generated.contains(name) && version == 1;
        let more: Vec<_> = found
            .iter()
            .filter(|(name, version)| !expected.contains_key(*name) && !is_made(name, **version))
            .filter(|(name, version)| !name.starts_with("Binary/") || **version != 1)
            .collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{endpoint}: missing {missing:?}, too much {more:?}"
        );
        // Each document came with the record that leads to it.
        let documents = source
            .iter()
            .filter(|name| name.ends_with("-pdf") || name.ends_with("-html"));
        let binaries = found.keys().filter(|name| name.starts_with("Binary/")).count();
        let attached = attachments(world).into_iter().filter(|(of, _)| *of == owner).count();
        assert_eq!([binaries, attached], [documents.count(); 2], "{endpoint}: documents");
        for seen in seen {
            assert_eq!(*seen, found.len(), "a half of {endpoint} {patient} was seen");
        }
    }
}

/// Looks at what an ended service has left on disk, once the next writer has tidied up: what the lake has, and nothing
/// else.
pub(in crate::sync) fn check_files(world: &World) {
    drop(world.lake().writer().unwrap());
    world.lake().refresh().unwrap();
    let newest = world.lake().snapshot().id;
    let snapshots = (0..=newest).filter_map(|id| world.lake().snapshot_at(id).ok());
    let mut known = BTreeSet::new();
    for snapshot in snapshots {
        for file in snapshot.tables.values().flat_map(|table| &table.files) {
            known.insert(file.path.clone());
            known.extend(file.deletes.iter().map(|deletes| deletes.path.clone()));
        }
    }
    known.extend(attachments(world).into_iter().map(|(_, path)| path));
    assert_eq!(files_in_place(&world.server.folder().join("data")), known);
    let spool = world.server.folder().join("spool");
    assert_eq!(files_below(&spool), [spool.join("lock")].into());
}

/// The owners and files of all attachments that the catalog names.
fn attachments(world: &World) -> Vec<(i64, PathBuf)> {
    let folder = world.server.folder();
    let catalog = rusqlite::Connection::open(folder.join("catalog.sqlite")).unwrap();
    catalog.busy_timeout(PATIENCE).unwrap();
    let Ok(mut statement) = catalog.prepare("SELECT owner, mode, path FROM tabularium_attachment") else {
        return Vec::new();
    };
    let row = |row: &rusqlite::Row<'_>| {
        let (mode, name): (String, String) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, folder.join("data").join(mode).join("Binary").join(name)))
    };
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

/// Whether a person's records are out of every file, once their consent has ended.
pub(in crate::sync) fn is_erased(world: &World, connected: &Connected) -> bool {
    let files = files_below(&world.server.folder().join("data"));
    let has = |path: &std::path::PathBuf| {
        memchr::memmem::find(&std::fs::read(path).unwrap(), connected.patient.as_bytes()).is_some()
    };
    !files.iter().any(has)
}
