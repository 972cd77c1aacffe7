//! Compares each attachment with the catalog's record of it, and selects the attachments for a new catalog.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::report::Problem;
use crate::lake::attachment::{AttachmentContent, TABLE, Trailer, is_attachment};
use crate::lake::catalog::{AddedAttachment, StoredAttachment};
use crate::lake::owners::scope::Mode;
use crate::lake::seal::Keys;
use crate::lake::store::folder::Folder;

/// Returns the first fault of an attachment. `None` if it has none.
pub(super) fn attachment(path: &Path, stored: &StoredAttachment, keys: &Keys) -> Option<Problem> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Problem::Missing,
        _ => Problem::Unreadable(error.to_string()),
    };
    let found = match std::fs::metadata(path) {
        Ok(facts) => facts.len(),
        Err(error) => return Some(unreadable(error)),
    };
    let recorded = stored.file_bytes;
    if found != recorded {
        return Some(Problem::Size { recorded, found });
    }
    let content = match AttachmentContent::open(path, keys) {
        Ok(content) => content,
        Err(error) => return Some(unreadable(error)),
    };
    let recorded = match stored.contents(keys) {
        Ok(recorded) => recorded,
        Err(error) => return Some(Problem::Unreadable(error.to_string())),
    };
    let trailer = content.trailer();
    let same = (trailer.mode.as_str(), trailer.owner, trailer.bytes)
        == (stored.mode.schema(), stored.owner, stored.bytes)
        && trailer.application == stored.application
        && trailer.authorization == recorded.authorization
        && trailer.binary == recorded.binary
        && trailer.sha256 == recorded.sha256;
    if !same {
        return Some(Problem::Contents(
            "says that it is another attachment than is recorded".to_owned(),
        ));
    }
    match content.is_whole() {
        Ok(true) => None,
        Ok(false) => Some(Problem::Contents("has other bytes than are recorded".to_owned())),
        Err(error) => Some(unreadable(error)),
    }
}

/// An attachment in the data folder that was read from its first byte to its last.
#[derive(Debug)]
pub(super) struct FoundAttachment {
    pub(super) path: PathBuf,
    mode: Mode,
    bytes: u64,
    trailer: Trailer,
}

/// Reads the attachments among `files`. Adds those that cannot be adopted to `unfit`, each with the reason.
pub(super) fn found_attachments(
    folder: &Folder,
    files: &[PathBuf],
    unfit: &mut Vec<(PathBuf, String)>,
) -> Vec<FoundAttachment> {
    let mut found = Vec::new();
    for path in files.iter().filter(|path| is_attachment(path)) {
        let mode = [Mode::Live, Mode::Test]
            .into_iter()
            .find(|mode| path.parent() == Some(&folder.table(*mode, TABLE)));
        let Some(mode) = mode else {
            unfit.push((path.clone(), "it is no file of a table".to_owned()));
            continue;
        };
        let read = || -> std::io::Result<Option<FoundAttachment>> {
            let content = AttachmentContent::open(path, folder.keys())?;
            let whole = content.is_whole()? && content.trailer().mode == mode.schema();
            Ok(whole.then_some(FoundAttachment {
                path: path.clone(),
                mode,
                bytes: std::fs::metadata(path)?.len(),
                trailer: content.trailer().clone(),
            }))
        };
        match read() {
            Ok(Some(one)) => found.push(one),
            Ok(None) => unfit.push((path.clone(), "it is not what its end says that it is".to_owned())),
            Err(error) => unfit.push((path.clone(), error.to_string())),
        }
    }
    found
}

/// Returns for each row of `Binary` the newest attachment that is no newer than the row. If there is none, returns the
/// newest one that is later than `now`: a clock that was ahead has stamped it, and the row's time was mended
/// afterwards. `updated` returns the `last_updated` of a row by mode, application and id, or `None` if the new catalog
/// does not have the row.
pub(super) fn taken_attachments(
    found: &[FoundAttachment],
    now: i64,
    updated: impl Fn(Mode, &str, &str) -> Option<i64>,
) -> Vec<(AddedAttachment, PathBuf)> {
    let mut newest: BTreeMap<(Mode, &str, &str), (bool, i64, &FoundAttachment)> = BTreeMap::new();
    for one in found {
        let key = (one.mode, one.trailer.application.as_str(), one.trailer.binary.as_str());
        let Some(date) = updated(key.0, key.1, key.2) else {
            continue;
        };
        let time = one.trailer.time;
        // Any other attachment that is newer than its row belongs to a transaction that never committed.
        if time > date && time <= now {
            continue;
        }
        let this = (time <= date, time, one);
        let known = newest.entry(key).or_insert(this);
        if (this.0, this.1) > (known.0, known.1) {
            *known = this;
        }
    }
    let taken = newest.into_values().map(|(_, _, one)| {
        let added = AddedAttachment {
            mode: one.mode,
            name: crate::lake::store::disk::file_name(&one.path),
            file_bytes: one.bytes,
            trailer: one.trailer.clone(),
        };
        (added, one.path.clone())
    });
    taken.collect()
}
