//! Carries out the erasures that ended consents have asked for: as many at a time as there are, since each file they
//! share is rewritten once.

use std::collections::BTreeSet;

use crate::consent::{AskedErasure, Error, Store};
use crate::ingest::{self, Normalization, Options};
use crate::lake::{Intent, Lake, LakeError, LakeWriter, PatientScope};

/// Erasures of one go.
const AT_ONCE: usize = 1_000;

/// Why an erasure was not carried out. It is asked for until it is.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// The store.
    #[error(transparent)]
    Store(#[from] Error),
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
}

/// What came of erasures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erasing {
    /// The lake has no such rows any more.
    pub done: usize,
    /// Some file keeps the lake from its end. Nobody is shown such rows, and they stay asked for.
    pub left: usize,
    /// The id of the last one that was looked at.
    pub last: i64,
}

/// Takes the rows of ended consents out of the lake, those that were asked for after `after`. [`LakeError::Busy`]
/// while somebody writes. What the rest of the same person's records had from them goes, too: it is normalized anew.
pub fn carry_out_erasures(
    store: &Store,
    lake: &Lake,
    after: i64,
    rules: &Normalization,
) -> Result<Erasing, EraseError> {
    let mut came = Erasing {
        last: after,
        ..Erasing::default()
    };
    loop {
        let asked = store.open_erasures(came.last, AT_ONCE)?;
        let Some(last) = asked.last() else {
            return Ok(came);
        };
        came.last = last.id;
        // What was left is tried again by this. It is not to be recorded once more: no row comes after its record.
        let mut writer = lake.writer()?;
        let known = writer.unfinished();
        let fresh: Vec<Intent> = asked.iter().map(intent).filter(|one| !known.contains(one)).collect();
        if !fresh.is_empty() {
            writer.erase_all(&fresh)?;
        }
        let not_normalized = normalize_what_is_left(store, &mut writer, &asked, rules);
        let unfinished = writer.unfinished();
        drop(writer);
        let (left, done): (Vec<AskedErasure>, Vec<AskedErasure>) = asked
            .into_iter()
            .partition(|asked| unfinished.contains(&intent(asked)) || not_normalized.contains(&asked.owner));
        store.erasures_done(&done)?;
        for asked in &left {
            // Which file it is, the lake has said.
            let authorization = asked.authorizations.first();
            tracing::warn!(
                authorization,
                "records are hidden and not erased yet; it is tried again"
            );
        }
        came.done += done.len();
        came.left += left.len();
    }
}

/// Normalizes the rest of each person's records anew. Gives the owners of whom that failed: their erasures stay asked
/// for.
fn normalize_what_is_left(
    store: &Store,
    writer: &mut LakeWriter,
    asked: &[AskedErasure],
    rules: &Normalization,
) -> BTreeSet<i64> {
    let (mut done, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for asked in asked.iter().filter(|asked| done.insert(asked.owner)) {
        let rules = Normalization {
            dangling: store.dangling(&asked.consent).unwrap_or_default(),
            ..rules.clone()
        };
        let options = Options {
            mode: asked.mode,
            application: asked.application.clone(),
            normalize: Some(rules),
            ..Options::default()
        };
        if let Err(error) = ingest::normalize_again(writer, options, asked.owner) {
            tracing::warn!(%error, "what an erasure leaves could not be normalized anew");
            failed.insert(asked.owner);
        }
    }
    failed
}

/// The rows that an authorization's syncs brought.
fn intent(asked: &AskedErasure) -> Intent {
    Intent {
        mode: asked.mode,
        application: asked.application.clone(),
        patient: PatientScope {
            patients: Vec::new(),
            owners: vec![asked.owner],
            authorizations: asked.authorizations.clone(),
        },
    }
}
