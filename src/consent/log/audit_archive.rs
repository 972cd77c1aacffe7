//! The archive of the audit log. Entries about ended consents move to files when they are older than
//! [`ARCHIVED_AFTER`]. There is one file per month, such as `audit/2026-11.ndjson` beside the store, with one entry per
//! line. Entries about applications, endpoints and keys stay in the store.
//!
//! Invariant: an entry is deleted from the store only after it is durable in its file. After a crash between these two
//! actions, the file and the store both have the entry. Readers merge both and return the entry once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use chrono::DateTime;
use rusqlite::{Connection, Transaction, params};

use super::super::error::Error;
use super::audit::{Audit, AuditEntry, COLUMNS};
use crate::private::{self, Below, OwnFolder};

/// The age in seconds from which an entry can move to the archive.
pub const ARCHIVED_AFTER: i64 = 90 * 86_400;

const FOLDER: &str = "audit";
/// The maximum number of entries that one transaction moves, so that other writers need not wait long.
const AT_ONCE: u32 = 1_000;

/// The condition for entries whose consent has not ended. They stay in the store. Such a consent is in one of these
/// situations: the patient is in the flow, the code is not exchanged, or the application can use or retry one of the
/// sources. An operator's consent has no sources. It has not ended as long as its state is EXCHANGED.
const GOES_ON: &str = "EXISTS (SELECT 1 FROM consent WHERE consent.id = audit.consent AND (
        consent.state IN ('CREATED', 'AUTHORIZED') OR consent.state = 'EXCHANGED' AND (
            NOT EXISTS (SELECT 1 FROM patient_authorization WHERE consent = consent.id)
            OR EXISTS (SELECT 1 FROM patient_authorization WHERE consent = consent.id
                       AND state IN ('CREATED', 'AUTHORIZING', 'AUTHORIZED', 'EXCHANGED', 'ERRORED')))))";

impl Audit<'_> {
    /// Moves old entries of ended consents to files. Returns the number of moved entries.
    pub(in crate::consent) fn archive(&self, now: i64) -> Result<usize, Error> {
        let before = now - ARCHIVED_AFTER;
        let folder = self.store.folder().join(FOLDER);
        let (mut after, mut moved) = (0, 0);
        loop {
            let looked_at = self.store.read(|connection| look(connection, after, before, now))?;
            if !looked_at.ended.is_empty() {
                moved += self
                    .store
                    .write(|transaction| move_lines(transaction, &folder, &looked_at.ended))?;
            }
            match looked_at.next {
                Some(next) => after = next,
                None => return Ok(moved),
            }
        }
    }

    /// Adds entries of the archive to `found`, which has the newest entries of the store. Returns the newest `limit`
    /// entries of the store and the archive.
    pub(in crate::consent) fn with_archived(
        &self,
        mut found: Vec<AuditEntry>,
        consent: Option<&str>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, Error> {
        let months: Vec<(String, i64)> = self.store.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT month, newest FROM audit_archive ORDER BY newest DESC")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })?;
        for (month, newest) in months {
            let oldest = found.last().map_or(0, |entry| entry.id);
            if found.len() >= limit && newest < oldest {
                break;
            }
            found.extend(entries(&self.store.folder().join(FOLDER), &month, consent)?);
            found.sort_by_key(|entry| std::cmp::Reverse(entry.id));
            found.dedup();
            found.truncate(limit);
        }
        Ok(found)
    }
}

/// What `look` found in one batch of entries.
struct LookedAt {
    /// The ids of the entries to move: they are old enough, and their consents have ended.
    ended: Vec<i64>,
    /// The id after which the next batch begins. `None` if there is no next batch: an entry of this batch was too
    /// young, or the batch was empty.
    next: Option<i64>,
}

/// Reads a batch of entries in the order of their ids. Stops at the first entry that is too young, because all later
/// entries are younger. Skips entries of the future: a clock that was ahead has written them, and later entries may be
/// old enough.
fn look(connection: &Connection, after: i64, before: i64, now: i64) -> Result<LookedAt, Error> {
    let sql = format!(
        "SELECT id, at, consent IS NOT NULL AND NOT {GOES_ON} FROM audit WHERE id > ?1 ORDER BY id LIMIT {AT_ONCE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([after])?;
    let mut looked_at = LookedAt {
        ended: Vec::new(),
        next: None,
    };
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let at: i64 = row.get(1)?;
        if at > before && at <= now {
            looked_at.next = None;
            break;
        }
        if at <= before && row.get(2)? {
            looked_at.ended.push(id);
        }
        looked_at.next = Some(id);
    }
    Ok(looked_at)
}

/// Writes the entries `ids` to the files of their months and deletes them from the store. Skips entries that another
/// process has moved in the meantime. Returns the number of moved entries.
fn move_lines(transaction: &Transaction<'_>, folder: &Path, ids: &[i64]) -> Result<usize, Error> {
    let mut months: BTreeMap<String, (i64, Vec<u8>)> = BTreeMap::new();
    let mut moved = 0;
    {
        let mut one = transaction.prepare_cached(&format!("SELECT {COLUMNS} FROM audit WHERE id = ?1"))?;
        let mut leaves = transaction.prepare_cached("INSERT INTO audit_archived (id) VALUES (?1)")?;
        for id in ids {
            let mut found = one.query_map([id], AuditEntry::read)?;
            let Some(entry) = found.next().transpose()? else {
                continue;
            };
            let (newest, text) = months.entry(month_of(entry.at)).or_default();
            *newest = (*newest).max(entry.id);
            serde_json::to_writer(&mut *text, &entry).map_err(|_| Error::Lost("audit line"))?;
            text.push(b'\n');
            leaves.execute([id])?;
            moved += 1;
        }
    }
    for (month, (newest, text)) in months {
        append(folder, &month, &text)?;
        let sql = "INSERT INTO audit_archive (month, newest) VALUES (?1, ?2)
                   ON CONFLICT (month) DO UPDATE SET newest = max(newest, excluded.newest)";
        transaction.execute(sql, params![month, newest])?;
    }
    transaction.execute("DELETE FROM audit WHERE id IN (SELECT id FROM audit_archived)", [])?;
    transaction.execute("DELETE FROM audit_archived", [])?;
    Ok(moved)
}

/// Appends lines to a month's file and makes them durable. If a crash left a partial line at the end of the file, adds
/// a line break before the new lines.
fn append(folder: &Path, month: &str, text: &[u8]) -> Result<(), Error> {
    let path = file_of(folder, month);
    let appended = || {
        let own = OwnFolder::open(folder.parent().unwrap_or(folder))?.folder_or_new(FOLDER)?;
        let mut file = private::options().read(true).append(true).create(true).open(&path)?;
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        file.write_all(text)?;
        file.sync_all()?;
        own.sync()
    };
    appended().map_err(|source| Error::Archive {
        path: path.clone(),
        source,
    })
}

/// Returns the entries of a month's file, or only those of `consent` if it is given. Returns none if there is no file.
/// Skips the partial lines that a crash can leave. The store still has the entries of these lines.
fn entries(folder: &Path, month: &str, consent: Option<&str>) -> Result<Vec<AuditEntry>, Error> {
    let path = file_of(folder, month);
    let unreadable = |source| Error::Archive {
        path: path.clone(),
        source,
    };
    let data = folder.parent().unwrap_or(folder);
    let file = match Below::new(data, path.strip_prefix(data).unwrap_or(&path)).open() {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut found = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        let Ok(entry) = serde_json::from_slice::<AuditEntry>(&line.map_err(unreadable)?) else {
            continue;
        };
        if consent.is_none_or(|consent| entry.consent.as_deref() == Some(consent)) {
            found.push(entry);
        }
    }
    Ok(found)
}

fn file_of(folder: &Path, month: &str) -> PathBuf {
    folder.join(format!("{month}.ndjson"))
}

/// Returns the month of a time, such as `2026-11`.
fn month_of(at: i64) -> String {
    DateTime::from_timestamp(at, 0)
        .unwrap_or_default()
        .format("%Y-%m")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::super::audit::{About, Actor, note};
    use super::*;
    use crate::consent::clock::Clock;
    use crate::consent::store::Store;
    use crate::lake::Mode;

    const DAY: i64 = 86_400;
    /// 2026-01-15T00:00:00Z.
    const START: i64 = 1_768_435_200;

    /// Makes a store with entries about an operator's consent, about a deleted consent, and about no consent. Returns
    /// the id of the operator's consent.
    fn store(folder: &Path) -> (Store, String) {
        let store = Store::open(folder, Clock::at(START)).unwrap();
        let kept = store.consents().of_imported("local", Mode::Live, "p1").unwrap();
        for day in 0..60 {
            let at = START + day * DAY;
            let add = |action: &str, consent: Option<&str>| {
                let about = About {
                    consent,
                    ..About::default()
                };
                let adding = |transaction: &Transaction<'_>| note(transaction, at, Actor::Service, action, about, "");
                store.write(adding).unwrap();
            };
            add("of.kept", Some(&kept));
            add("of.gone", Some("gone"));
            add("of.nobody", None);
        }
        (store, kept)
    }

    fn in_store(store: &Store, action: &str) -> i64 {
        let sql = "SELECT count(*) FROM audit WHERE action = ?1";
        store
            .read(|connection| Ok(connection.query_row(sql, [action], |row| row.get(0))?))
            .unwrap()
    }

    #[test]
    fn old_lines_of_ended_consents_move_to_files_and_are_told_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let (store, kept) = store(folder.path());
        let all = store.audit().newest(None, 1_000).unwrap();
        let gone = store.audit().newest(Some("gone"), 1_000).unwrap();
        store.clock().advance(ARCHIVED_AFTER + 20 * DAY);
        assert_eq!(store.audit().archive(store.clock().now()).unwrap(), 21);
        let left = (
            in_store(&store, "of.gone"),
            in_store(&store, "of.kept"),
            in_store(&store, "of.nobody"),
        );
        assert_eq!(left, (39, 60, 60));
        assert!(folder.path().join("audit/2026-01.ndjson").is_file());
        assert!(folder.path().join("audit/2026-02.ndjson").is_file());
        assert_eq!(store.audit().newest(None, 1_000).unwrap(), all);
        assert_eq!(store.audit().newest(Some("gone"), 1_000).unwrap(), gone);
        for limit in [1, 40, 117, 118, 119, 150] {
            assert_eq!(
                store.audit().newest(None, limit).unwrap(),
                all[..limit as usize],
                "{limit}"
            );
        }
        assert_eq!(store.audit().newest(Some(&kept), 5).unwrap().len(), 5);
        assert_eq!(store.audit().archive(store.clock().now()).unwrap(), 0);
        drop(store);
        let again = Store::open(folder.path(), Clock::at(START)).unwrap();
        assert_eq!(again.audit().newest(None, 1_000).unwrap(), all);
    }

    #[test]
    fn a_line_that_a_crash_left_in_both_places_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = store(folder.path());
        let all = store.audit().newest(None, 1_000).unwrap();
        // Write what a crash can leave in the file: the line of an entry that the store still has, and a part of such a
        // line.
        let oldest = all.iter().rev().find(|entry| entry.action == "of.gone").unwrap();
        let whole = serde_json::to_string(oldest).unwrap();
        std::fs::create_dir(folder.path().join("audit")).unwrap();
        let file = folder.path().join("audit/2026-01.ndjson");
        std::fs::write(&file, format!("{whole}\n{}", &whole[..20])).unwrap();
        store.clock().advance(ARCHIVED_AFTER + 20 * DAY);
        store.audit().archive(store.clock().now()).unwrap();
        assert_eq!(store.audit().newest(None, 1_000).unwrap(), all);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_no_line_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = store(folder.path());
        let all = store.audit().newest(None, 1_000).unwrap();
        std::fs::create_dir_all(folder.path().join("audit/2026-01.ndjson")).unwrap();
        store.clock().advance(ARCHIVED_AFTER + 2 * DAY);
        let refused = store.audit().archive(store.clock().now()).unwrap_err().to_string();
        assert!(refused.contains("audit/2026-01.ndjson"), "{refused}");
        assert_eq!(store.audit().newest(None, 1_000).unwrap(), all);
    }

    #[test]
    fn lines_leave_the_store_by_the_archive_only() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = store(folder.path());
        store.clock().advance(ARCHIVED_AFTER + 20 * DAY);
        store.audit().archive(store.clock().now()).unwrap();
        for sql in ["DELETE FROM audit", "UPDATE audit SET detail = 'x'"] {
            let refused = store
                .write(|transaction| Ok(transaction.execute(sql, [])?))
                .unwrap_err()
                .to_string();
            assert!(refused.contains("append-only"), "{sql}: {refused}");
        }
    }
}
