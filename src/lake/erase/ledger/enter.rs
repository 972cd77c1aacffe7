//! Enters erasures in a ledger.

use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};

use super::super::super::catalog;
use super::super::super::clock::{Clock, SystemClock};
use super::super::super::error::LakeError;
use super::super::super::owners::owner::OwnerKey;
use super::super::super::store::folder::Folder;
use super::super::super::store::open::Lake;
use super::super::Erasure;
use super::entering;
use super::hashes::{ErasedSince, Keyer, lake_id};
use super::lines::{Entered, Entry, Lines, not_the_one};
use super::place::{named, place};
use super::read::{Ledger, create, open_locked, read_lines, torn};

/// Enters erasures that a lake has recorded, durably and each once. `known` is the catalog's record of the ledger.
/// Returns the record after these erasures. The transaction that ends them stores it in the catalog.
///
/// Returns [`LakeError::Ledger`] if the ledger at its path is not the one that the catalog has recorded, or lacks
/// entries of this lake, or is damaged. Returns [`LakeError::Older`] if it has entries that this copy of the lake has
/// never had, after the erasures were entered.
///
/// Without a record, this function enters the erasures only if the ledger's file exists or
/// [`VARIABLE`](super::VARIABLE) is set. If the variable is set and the file is missing, it creates the file. Otherwise
/// there is no ledger yet, and it returns `None`.
pub(in crate::lake) fn enter(
    dir: &Path,
    key: OwnerKey,
    known: Option<&Entered>,
    erasures: &[Arc<Erasure>],
    now: i64,
) -> Result<Option<Entered>, LakeError> {
    let path = place(dir);
    if known.is_none() && !path.try_exists().map_err(LakeError::io("find", &path))? {
        if named().is_none() {
            return Ok(None);
        }
        create(&path)?;
    }
    let (entered, before) = enter_at(&path, (key, known), erasures, now, Mend::Allowed)?;
    // An older copy enters its erasures too, because all other copies must lose the rows. The erasures end when this
    // copy has had those that it has missed.
    check_is_not_older(&path, &before, (key, known), erasures)?;
    Ok(Some(entered))
}

/// Returns what a catalog of the lake with this owner key may record of the ledger at its path, with the number of its
/// newest erasure. Returns `None` if there is no ledger, if it cannot be read, or if it has no entry of the lake.
pub(in crate::lake) fn entered_at_place(dir: &Path, key: OwnerKey) -> Option<(Entered, u64)> {
    let lines = read_lines(&place(dir)).ok().flatten()?;
    let lake = lake_id(key);
    let newest = lines.of(&lake).map(|(entry, _)| entry.number).max()?;
    Some((lines.entered(&lake), newest))
}

/// A ledger that a backup may rely on.
#[derive(Debug)]
pub(in crate::lake) struct ForBackup {
    /// The ledger.
    pub(in crate::lake) ledger: Ledger,
    /// Whether the lake's earlier backups rely on another ledger, which is not at the path.
    pub(in crate::lake) is_instead: bool,
}

/// Returns the ledger of a lake, for a backup. Creates it if the file is missing. If the ledger has the id that the
/// catalog has recorded, it must have all entries that the catalog knows. An incomplete last line is cut off if its
/// erasure has not ended.
///
/// Returns [`LakeError::Older`] if the ledger has entries that this copy of the lake has never had.
pub(in crate::lake) fn for_backup(dir: &Path) -> Result<ForBackup, LakeError> {
    let path = place(dir);
    // Read the ledger before the catalog. Then the catalog has recorded all erasures of the entries.
    let lines = read_lines(&path)?;
    relied_on(&path, lines, &recorded(dir)?)
}

/// Returns the ledger at this path, of which `lines` were read, for a backup. See [`for_backup`].
pub(super) fn relied_on(path: &Path, lines: Option<Lines>, recorded: &Recorded) -> Result<ForBackup, LakeError> {
    let Recorded { key, known, pending } = recorded;
    let (key, known) = (*key, known.as_ref());
    let Some(lines) = lines else {
        let ledger = Ledger::read_or_create(path)?;
        let is_instead = known.is_some();
        return Ok(ForBackup { ledger, is_instead });
    };
    // Another ledger may be there, for example one that another lake's backup has made after the loss of a shared one.
    // Then no entry of it is known.
    let is_instead = known.is_some_and(|known| known.ledger != lines.head.ledger);
    if !is_instead {
        check_is_not_older(path, &lines, (key, known), pending)?;
    }
    let known = known.filter(|_| !is_instead);
    enter_at(path, (key, known), &[], SystemClock.now(), Mend::Allowed)?;
    let ledger = Ledger::read(path)?.ok_or_else(|| not_the_one(path, "is missing"))?;
    Ok(ForBackup { ledger, is_instead })
}

impl Ledger {
    /// Enters the erasures that the catalog in `dir` has recorded and not finished. Older copies of the lake also have
    /// the rows of these erasures. A restored copy must lose the rows, even if the lake itself never finishes the
    /// erasures.
    pub fn enter_pending(&self, dir: &Path) -> Result<(), LakeError> {
        let Recorded { key, pending, .. } = recorded(dir)?;
        if pending.is_empty() {
            return Ok(());
        }
        let known = self.entered(key);
        enter_at(
            &self.path,
            (key, Some(&known)),
            &pending,
            SystemClock.now(),
            Mend::Refused,
        )
        .map(drop)
    }

    /// Returns the hashes of everything whose erasure has not ended in this copy of a lake, as far as its catalog in
    /// `dir` knows.
    pub fn not_ended(&self, dir: &Path) -> Result<ErasedSince, LakeError> {
        let Recorded { key, known, .. } = recorded(dir)?;
        let ended = match known {
            Some(known) => {
                self.check_has(key, &known)?;
                known.entries
            }
            None => 0,
        };
        Ok(self.erased(key, 0, |entry| entry.nth > ended))
    }

    /// Returns an error if this ledger lacks entries that the catalog in `dir` has recorded.
    pub fn check_catalog(&self, dir: &Path) -> Result<(), LakeError> {
        let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
        let read = || {
            let reader = catalog::open_reader(&folder)?;
            let known = catalog::ledger(&reader)?;
            known.map_or(Ok(()), |known| self.check_has(catalog::owner_key(&reader)?, &known))
        };
        read().map_err(|error: LakeError| error.of_catalog(folder.path()))
    }
}

impl Lake {
    /// Returns an error if the ledger that this lake's catalog has recorded is missing, lacks entries of this lake, or
    /// is damaged. An incomplete last line is no error if the next writer mends it. Returns [`LakeError::Older`] if the
    /// ledger has entries that this copy of the lake has never had.
    pub fn check_ledger(&self) -> Result<(), LakeError> {
        let path = place(self.folder().path());
        // Read the ledger before the catalog. Then the catalog has recorded all erasures of the entries.
        let lines = read_lines(&path);
        let Recorded { key, known, pending } = recorded(self.folder().path())?;
        let lines = match (lines, &known) {
            // Without a record the file may be anything.
            (Err(_), None) => return Ok(()),
            (lines, _) => lines?,
        };
        let Some(lines) = lines else {
            return known.map_or(Ok(()), |_| Err(not_the_one(&path, "is missing")));
        };
        if let Some(known) = &known {
            check(&path, &lines, key, Some(known), Mend::Allowed)?;
        }
        check_is_not_older(&path, &lines, (key, known.as_ref()), &pending)
    }
}

/// Whether an incomplete last line of this lake may be cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mend {
    Allowed,
    Refused,
}

fn check(path: &Path, lines: &Lines, key: OwnerKey, known: Option<&Entered>, mend: Mend) -> Result<(), LakeError> {
    let lake = lake_id(key);
    // First look for all entries of ended erasures. Only then is the erasure of an incomplete line known not to have
    // ended.
    known.map_or(Ok(()), |known| lines.check_has(path, &lake, known))?;
    let is_fine = lines.torn.is_empty() || mend == Mend::Allowed && lines.is_torn_of(&lake);
    if is_fine { Ok(()) } else { Err(torn(path, lines)) }
}

/// Returns an error if the ledger has entries of the lake that neither have ended, as far as the catalog knows, nor are
/// of one of its unfinished erasures. Then this is a copy of the lake from before these erasures, or the lake has more
/// than one copy that is written. An entry of an unfinished erasure may have another number, because an erasure that is
/// requested again replaces the unfinished one of the same rows.
fn check_is_not_older(
    path: &Path,
    lines: &Lines,
    (key, known): (OwnerKey, Option<&Entered>),
    pending: &[Arc<Erasure>],
) -> Result<(), LakeError> {
    let keyer = Keyer::new(key, &lines.salt);
    let pending: Vec<Vec<String>> = pending.iter().map(|erasure| keyer.rows(erasure)).collect();
    let ended = known.map_or(0, |known| known.entries);
    let own = lines.of(&keyer.lake).map(|(entry, _)| entry);
    let missed = own
        .filter(|entry| entry.nth > ended && !pending.contains(&entry.rows))
        .count();
    if missed == 0 {
        return Ok(());
    }
    let path = path.to_owned();
    Err(LakeError::Older { path, missed })
}

/// Enters erasures in the ledger at this path. Returns what the catalog may record of it, and the lines before.
fn enter_at(
    path: &Path,
    (key, known): (OwnerKey, Option<&Entered>),
    erasures: &[Arc<Erasure>],
    now: i64,
    mend: Mend,
) -> Result<(Entered, Lines), LakeError> {
    if !path.try_exists().map_err(LakeError::io("find", path))? {
        return Err(not_the_one(path, "is missing"));
    }
    let mut file = open_locked(path)?;
    let lines = Lines::check(path, entering::read_completed(path, &mut file)?)?;
    check(path, &lines, key, known, mend)?;
    let keyer = Keyer::new(key, &lines.salt);
    let at = DateTime::<Utc>::from_timestamp_micros(now).unwrap_or_default();
    let own: Vec<&Entry> = lines.of(&keyer.lake).map(|(entry, _)| entry).collect();
    let mut fresh: Vec<Entry> = Vec::new();
    for erasure in erasures {
        let (number, rows) = (erasure.id, keyer.rows(erasure));
        // The number alone is not enough to recognize an entry, because copies of a lake give the same numbers to
        // different erasures.
        if !own.iter().any(|known| known.number == number && known.rows == rows) {
            fresh.push(Entry {
                lake: keyer.lake.clone(),
                nth: (own.len() + fresh.len()) as u64 + 1,
                number,
                at: at.to_rfc3339_opts(SecondsFormat::Secs, true),
                rows,
            });
        }
    }
    let mut entered = lines.entered(&keyer.lake);
    if fresh.is_empty() && lines.torn.is_empty() {
        return Ok((entered, lines));
    }
    let (more, sum) = lines.next(&fresh).map_err(LakeError::io("write", path))?;
    entering::append(path, &mut file, lines.bytes.len() as u64, &more)?;
    entered.entries += fresh.len() as u64;
    entered.sum = sum.unwrap_or(entered.sum);
    Ok((entered, lines))
}

/// What a catalog has recorded about erasures.
pub(super) struct Recorded {
    /// The lake's owner key.
    pub(super) key: OwnerKey,
    /// The ledger, with the entries of erasures that have ended.
    pub(super) known: Option<Entered>,
    /// The unfinished erasures.
    pub(super) pending: Vec<Arc<Erasure>>,
}

/// Returns what the catalog in `dir` has recorded about erasures.
fn recorded(dir: &Path) -> Result<Recorded, LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    let read = || {
        let mut reader = catalog::open_reader(&folder)?;
        // In one transaction, because an erasure may end meanwhile.
        let reader = reader.transaction()?;
        Ok(Recorded {
            key: catalog::owner_key(&reader)?,
            known: catalog::ledger(&reader)?,
            pending: catalog::erasures(&reader)?.pending,
        })
    };
    read().map_err(|error: LakeError| error.of_catalog(folder.path()))
}
