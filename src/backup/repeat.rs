//! Repeats erasures in a data folder that is an older copy, put back without `tabularium restore`. Its ledger has the
//! erasures that this copy has never had.

use std::path::Path;

use super::apply::{Rules, apply};
use super::error::BackupError;
use crate::lake::erase::ledger::{self, Ledger};
use crate::lake::{Lake, LakeError};

/// The result of repeating erasures in a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The number of entries of the ledger that the lake had never had.
    pub missed: usize,
    /// The number of owners with erased rows or attachments.
    pub owners: u64,
    /// The number of consents and authorizations that were ended in the service's store.
    pub ended: u64,
    /// Places where erased bytes may remain, a text for each.
    pub left: Vec<String>,
}

/// Repeats the erasures of the ledger that the lake in `data` has never had, and ends access to the erased records.
/// Returns `None` if there are none. No other process may have the folder open. A killed call can be repeated.
pub fn repeat_erasures(data: &Path, rules: Rules<'_>) -> Result<Option<Repeated>, BackupError> {
    let lake = Lake::open(data)?;
    let missed = match lake.check_ledger() {
        Err(LakeError::Older { missed, .. }) => missed,
        checked => return Ok(checked.map(|()| None)?),
    };
    let key = lake.owner_key();
    drop(lake);
    let path = ledger::place(data);
    let is_missing = || BackupError::NoLedger {
        path: path.clone(),
        what: "is missing".to_owned(),
    };
    let ledger = Ledger::read(&path)?.ok_or_else(is_missing)?;
    let since = ledger.not_ended(data)?;
    let applied = apply(data, key, &since, &ledger, rules)?;
    Ok(Some(Repeated {
        missed,
        owners: applied.owners,
        ended: applied.ended,
        left: applied.left,
    }))
}
