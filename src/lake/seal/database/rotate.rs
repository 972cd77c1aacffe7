//! Replaces the key-encryption key: wraps the keys of all files with the new one, a batch at a time. Until the last
//! step, both key-encryption keys open all keys. After the last step, the earlier one opens no key, and the texts that
//! it wrapped are overwritten.
//!
//! An interrupted rotation continues when it is requested again with the same new key. Data files do not change.

use std::path::Path;

use rusqlite::{Connection, params};

use super::super::error::SealError;
use super::super::kek::Kek;
use super::super::key_id::KeyId;
use super::super::wrap::Wrapping;
use super::scrub;
use super::store::{self, KekRow, KeyStore};

/// The number of keys per transaction. Other processes wait for at most one transaction.
const BATCH: usize = 1_000;

/// The result of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// The number of keys in the database.
    pub keys: u64,
    /// Whether the earlier key-encryption key still opens the keys.
    pub accepts_earlier: bool,
}

/// The earlier and the new key-encryption key of a rotation, each with its number in the database.
struct Sides {
    earlier: (i64, Wrapping),
    new: (i64, Wrapping),
}

impl KeyStore {
    /// Wraps all keys of the lake in `folder` with another key-encryption key. With `keep_earlier`, leaves out the last
    /// step, so that the earlier key-encryption key still opens all keys.
    pub fn rotate(folder: &Path, earlier: &Kek, new: &Kek, keep_earlier: bool) -> Result<Rotated, SealError> {
        let path = folder.join(store::FILE);
        let mut connection = store::connect(&path)?;
        store::read_keks(&mut connection, &path)?;
        let sides = begin(&mut connection, &path, earlier, new)?;
        if let Some(sides) = &sides {
            let mut last = 0;
            while let Some(at) = wrap_some(&mut connection, &path, sides, last)? {
                last = at;
            }
            if !keep_earlier {
                finish(&mut connection, &path, sides)?;
            }
        }
        scrub::scrub(&connection, &path)?;
        let count = connection.query_row("SELECT count(DISTINCT id) FROM file_key", [], |row| {
            row.get::<_, i64>(0)
        });
        Ok(Rotated {
            keys: count.map_err(SealError::sqlite(&path))?.unsigned_abs(),
            accepts_earlier: keep_earlier && sides.is_some(),
        })
    }
}

/// Records the new key-encryption key, or continues an interrupted rotation to it. `None` if the rotation to it has
/// finished. Fails if a rotation to a third key-encryption key has not finished. A rotation that begins also fails if
/// `earlier` is not the key-encryption key in use.
fn begin(connection: &mut Connection, path: &Path, earlier: &Kek, new: &Kek) -> Result<Option<Sides>, SealError> {
    let wrapping = Wrapping::new(new)?;
    let transaction = store::begin(connection, path)?;
    let rows = store::keks(&transaction).map_err(SealError::sqlite(path))?;
    let wrong = || SealError::WrongKek(path.to_owned());
    let newest = rows.first().ok_or_else(wrong)?;
    if wrapping.proves(&newest.proof) {
        return match rows.get(1) {
            Some(before) => resumed(newest, before, wrapping).map(Some).ok_or_else(wrong),
            None if earlier.bytes() == new.bytes() => Err(SealError::Kek {
                origin: "to rotate to".to_owned(),
                what: "is the one in use".to_owned(),
            }),
            None => Ok(None),
        };
    }
    if rows.len() > 1 {
        return Err(SealError::Rotating(path.to_owned()));
    }
    let before = Wrapping::new(earlier)?;
    if !before.proves(&newest.proof) {
        return Err(wrong());
    }
    let number = newest.number + 1;
    let (proof, bridge) = (wrapping.proof()?, wrapping.wrap_earlier(earlier)?);
    let record = || -> rusqlite::Result<()> {
        let sql = "INSERT INTO kek (number, proof, earlier) VALUES (?1, ?2, ?3)";
        transaction.execute(sql, params![number, proof, bridge])?;
        transaction.commit()
    };
    let earlier = (newest.number, before);
    record().map_err(SealError::sqlite(path))?;
    Ok(Some(Sides {
        earlier,
        new: (number, wrapping),
    }))
}

fn resumed(newest: &KekRow, before: &KekRow, wrapping: Wrapping) -> Option<Sides> {
    let earlier = wrapping.unwrap_earlier(newest.earlier.as_deref()?)?;
    Some(Sides {
        earlier: (before.number, Wrapping::new(&earlier).ok()?),
        new: (newest.number, wrapping),
    })
}

/// Wraps the next batch of keys, which follow the row `last`. Returns the number of the last row of the batch, or
/// `None` if no keys are left.
fn wrap_some(connection: &mut Connection, path: &Path, sides: &Sides, last: i64) -> Result<Option<i64>, SealError> {
    let transaction = store::begin(connection, path)?;
    let at = wrap_in(&transaction, path, sides, last, BATCH)?;
    transaction.commit().map_err(SealError::sqlite(path))?;
    Ok(at)
}

/// The number, the id and the wrapped text of a key.
type Wrapped = (i64, Vec<u8>, Vec<u8>);

fn wrap_in(
    connection: &Connection,
    path: &Path,
    sides: &Sides,
    last: i64,
    at_most: usize,
) -> Result<Option<i64>, SealError> {
    let asked = SealError::sqlite(path);
    let read = || -> rusqlite::Result<Vec<Wrapped>> {
        let sql = "SELECT number, id, wrapped FROM file_key WHERE number > ?1 AND kek = ?2 ORDER BY number LIMIT ?3";
        let mut rows = connection.prepare_cached(sql)?;
        let limit = i64::try_from(at_most).unwrap_or(i64::MAX);
        let rows = rows.query_map(params![last, sides.earlier.0, limit], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        rows.collect()
    };
    let rows = read().map_err(&asked)?;
    for (_, id, wrapped) in &rows {
        let id = KeyId::from_bytes(id);
        let key = id.and_then(|id| sides.earlier.1.unwrap(id, wrapped));
        let key = key.ok_or_else(|| SealError::Damaged {
            path: path.to_owned(),
            what: id.map_or("the id of a key has another length".to_owned(), |id| {
                format!("the key {id} was changed")
            }),
        })?;
        store::insert(connection, key.id(), sides.new.0, &sides.new.1.wrap(&key)?).map_err(&asked)?;
    }
    Ok(rows.last().map(|(number, ..)| *number))
}

/// Ends the rotation: removes the earlier key-encryption key, and the wrapped keys that only it can open.
fn finish(connection: &mut Connection, path: &Path, sides: &Sides) -> Result<(), SealError> {
    let transaction = store::begin(connection, path)?;
    // Other processes may have stored keys in the meantime that only the earlier key-encryption key wraps. So wrap
    // these keys first.
    let sql = "SELECT min(number) FROM file_key AS old WHERE kek = ?1
        AND NOT EXISTS (SELECT 1 FROM file_key AS new WHERE new.id = old.id AND new.kek = ?2)";
    let first: Option<i64> = transaction
        .query_row(sql, [sides.earlier.0, sides.new.0], |row| row.get(0))
        .map_err(SealError::sqlite(path))?;
    if let Some(first) = first {
        wrap_in(&transaction, path, sides, first - 1, usize::MAX)?;
    }
    let give_up = || -> rusqlite::Result<()> {
        transaction.execute("DELETE FROM file_key WHERE kek = ?1", [sides.earlier.0])?;
        transaction.execute("DELETE FROM kek WHERE number = ?1", [sides.earlier.0])?;
        transaction.execute("UPDATE kek SET earlier = NULL", [])?;
        scrub::note(&transaction)?;
        transaction.commit()
    };
    give_up().map_err(SealError::sqlite(path))
}
