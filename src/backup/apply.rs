//! Repeats erasures in an older copy of a data folder: removes rows and attachments from the lake, and ends access to
//! them in the service's store.

use std::path::Path;

use crate::consent::{Clock, ErasedElsewhere, KEY_FILE, Store, end_erased, has_key_variable};
use crate::ingest::Normalization;
use crate::lake::erase::ledger::{ErasedSince, Ledger, Whose};
use crate::lake::seal::KEYS_FILE;
use crate::lake::store::image::{is_sealed, settle_image};
use crate::lake::{Lake, Mode, OwnerKey};
use crate::sync::carry_out_erasures;

use super::error::BackupError;

/// A function from the path of a data folder to the rules for normalizing the folder's records. The rules are needed
/// when one source's records are erased. Then the person's other sources are normalized again, because their generated
/// records may use the erased ones.
pub type Rules<'r> = &'r dyn Fn(&Path) -> Result<Normalization, String>;

/// The result of repeated erasures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Applied {
    /// Whether the erasures were repeated in the lake. It is `false` for a sealed lake whose keys are not there.
    pub(super) in_lake: bool,
    /// The number of owners with erased rows or attachments.
    pub(super) owners: u64,
    /// The number of consents and authorizations that were ended in the service's store.
    pub(super) ended: u64,
    /// Places where erased bytes may remain, a text for each.
    pub(super) left: Vec<String>,
}

struct Elsewhere<'s> {
    since: &'s ErasedSince,
    key: OwnerKey,
}

impl ErasedElsewhere for Elsewhere<'_> {
    fn has(&self, mode: Mode, application: &str, owner: i64, whose: Whose<'_>) -> bool {
        self.since.has(mode, application, owner, whose)
    }

    fn owners_of(&self, application: &str, patient: &str) -> Vec<i64> {
        self.key.owners_of(application, patient)
    }
}

/// Repeats the erasures `since` in the data folder `dir`, and finishes the folder's interrupted erasures. Enters the
/// interrupted erasures in `ledger` first, because older snapshots contain the same rows. No other process may have the
/// folder open.
pub(super) fn apply(
    dir: &Path,
    key: OwnerKey,
    since: &ErasedSince,
    ledger: &Ledger,
    rules: Rules<'_>,
) -> Result<Applied, BackupError> {
    let mut applied = Applied::default();
    ledger.enter_pending(dir)?;
    let ledger = &ledger.read_again()?;
    if is_sealed(dir)? && !dir.join(KEYS_FILE).exists() {
        // The keys of this sealed lake are not in the folder, so its files cannot be rewritten. The files still have
        // the erased rows, and somebody may have a copy of the keys from before the erasure. So the lake does not count
        // these erasures as done, and a restore repeats them.
        applied.ended = end_erased(dir, &Clock::System, &Elsewhere { since, key })?;
        settle_image(dir, None, Some(ledger))?;
        return Ok(applied);
    }
    applied.in_lake = true;
    let lake = Lake::open(dir)?;
    let mut writer = lake.writer_that_repeats()?;
    let done = writer.erase_again(since)?;
    applied.owners = done
        .iter()
        .filter(|erased| erased.rows + erased.attachments > 0)
        .count() as u64;
    applied.left = done.into_iter().flat_map(|erased| erased.left).collect();
    if !writer.unfinished().is_empty() {
        applied.left.push("files that cannot be read".to_owned());
    }
    drop(writer);
    applied.ended = end_erased(dir, &Clock::System, &Elsewhere { since, key })?;
    // Erase also the records of the consents that have just ended. This needs the store, which opens only with its key.
    // Without the key, the server does this when it starts.
    if applied.ended > 0 && (dir.join(KEY_FILE).exists() || has_key_variable()) {
        let store = Store::open(dir, Clock::System)?;
        let rules = rules(dir).map_err(BackupError::Rules)?;
        let came = carry_out_erasures(&store, &lake, 0, &rules);
        let came = came.map_err(|error| BackupError::Rules(error.to_string()))?;
        if came.left > 0 {
            applied
                .left
                .push("records that could not be erased or normalized anew".to_owned());
        }
    }
    applied.left.sort_unstable();
    applied.left.dedup();
    drop(lake);
    settle_image(dir, Some(since), Some(ledger))?;
    Ok(applied)
}
