//! The program as a process that is killed and restarted, and checks of its data afterwards.

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

/// An address that the system assigns to nobody else, so that a restarted service gets it again.
pub(in crate::sync) fn lasting_address() -> String {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    // Concurrent tests have different addresses, and those of another run are probably different.
    let somewhere = || (std::hash::RandomState::new().hash_one(0u8) % 22_000) as u16;
    let next = NEXT.get_or_init(|| AtomicU16::new(somewhere()));
    let port = |_| 10_000 + next.fetch_add(1, Ordering::Relaxed) % 22_000;
    let mut addresses = (0..1_000).map(port).map(|port| format!("127.0.0.1:{port}"));
    addresses.find(|address| TcpListener::bind(address).is_ok()).unwrap()
}

/// The serving program.
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
        // When it prints its address, it already listens.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("Serving "), "{line}");
        Service { child }
    }

    /// Kills it at once.
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

/// A database that nobody else can write while this exists.
pub(in crate::sync) struct Held(rusqlite::Connection);

impl Held {
    /// Locks the service's store: no state changes.
    pub(in crate::sync) fn store(world: &World) -> Held {
        Held::file(world, "service.sqlite")
    }

    /// Locks the lake's catalog: no commits.
    pub(in crate::sync) fn catalog(world: &World) -> Held {
        Held::file(world, "catalog.sqlite")
    }

    fn file(world: &World, name: &str) -> Held {
        let held = rusqlite::Connection::open(world.server.folder().join(name)).unwrap();
        held.busy_timeout(PATIENCE).unwrap();
        held.execute_batch("BEGIN IMMEDIATE").unwrap();
        Held(held)
    }

    /// The number from a query.
    pub(in crate::sync) fn count(&self, sql: &str) -> i64 {
        self.0.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// Checks that the store has no rows with contradictory states.
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
            // A repeated token ends its family after a while, and a slow machine may need longer to start.
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

/// The number of rows per owner at one time.
pub(in crate::sync) type Seen = BTreeMap<i64, usize>;

/// The rows that a killed service left, read before any clean-up.
pub(in crate::sync) fn see(world: &World) -> Seen {
    world.lake().refresh().unwrap();
    let rows = versions(world.lake());
    rows.into_iter().map(|(owner, rows)| (owner, rows.len())).collect()
}

/// All consents with their sources. The operator's own have none.
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

/// Checks the stored rows after all work is done. A finished flow has all of its source's records once; others have
/// none. No earlier look saw a part.
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
            let (resource_type, id) = name.split_once('/').unwrap();
            (
                format!(
                    "{resource_type}/{}",
                    world.lake().synced_id(owner, &endpoint, resource_type, id)
                ),
                1,
            )
        };
        // A row stored twice would have a second version.
        let expected: BTreeMap<String, i64> = source.iter().map(here).collect();
        let found = rows.get(&owner).cloned().unwrap_or_default();
        let missing: Vec<_> = expected
            .iter()
            .filter(|(name, version)| found.get(*name) != Some(version))
            .collect();
        // Generated resources were made once, with the source's records.
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
        // Each document came with the record that refers to it.
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

/// Checks the files of a stopped service after the next writer's clean-up: exactly those of the lake exist.
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

/// The owners and files of all attachments in the catalog.
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

/// Whether all files are without a person's records, after their consent ended.
pub(in crate::sync) fn is_erased(world: &World, connected: &Connected) -> bool {
    let files = files_below(&world.server.folder().join("data"));
    let has = |path: &std::path::PathBuf| match std::fs::read(path) {
        // The service has removed the file since it was listed.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        read => memchr::memmem::find(&read.unwrap(), connected.patient.as_bytes()).is_some(),
    };
    !files.iter().any(has)
}
