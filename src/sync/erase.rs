//! Carries out the erasures that ended consents have requested. It handles many together, because each shared file is
//! then rewritten only once.

use std::collections::{BTreeMap, BTreeSet};

use crate::consent::{AskedErasure, Error, Proof, Store};
use crate::ingest::{self, Normalization, Options};
use crate::lake::{Intent, Lake, LakeError, LakeWriter, PatientScope};

/// The maximum number of erasures that are carried out together.
const AT_ONCE: usize = 1_000;

/// Why an erasure failed. A failed erasure stays requested until it succeeds.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] Error),
    /// An error of the lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
}

/// The result of erasures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erasing {
    /// The number of completed erasures.
    pub done: usize,
    /// The number of erasures that stay requested, for one of two reasons: bytes or keys of the erased rows remain, or
    /// the person's other records could not be normalized again. Erased rows that remain on disk are hidden.
    pub left: usize,
    /// The id of the last request that was handled.
    pub last: i64,
}

/// Erases the rows of ended consents, for requests with ids above `after`. Then normalizes the remaining records of the
/// same persons again, because they may contain values from the erased records. Returns [`LakeError::Busy`] if another
/// process writes the lake.
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
        let asked = store.erasures().due(came.last, AT_ONCE)?;
        let Some(last) = asked.last() else {
            store.erasure_jobs().sign_receipts(lake)?;
            return Ok(came);
        };
        came.last = last.id;
        // Opening a writer continues the unfinished erasures that the lake has recorded. If one is still unfinished
        // afterwards, `erase_rows` does not record it again, because no rows of the consent were added since then.
        let mut writer = lake.writer()?;
        let remains = erase_rows(&mut writer, &asked)?;
        let is_gone = |asked: &AskedErasure| !remains.contains_key(&asked.id);
        let not_normalized = normalize_what_is_left(store, &mut writer, &asked, &is_gone, rules)?;
        let is_done = |asked: &&AskedErasure| is_gone(asked) && !not_normalized.contains(&asked.owner);
        let over: Vec<AskedErasure> = asked.iter().filter(is_done).cloned().collect();
        take_down(store, &mut writer, over)?;
        drop(writer);
        for asked in asked.iter().filter(|asked| not_normalized.contains(&asked.owner)) {
            store.erasures().not_normalized(asked, is_gone(asked))?;
        }
        let (done, left): (Vec<AskedErasure>, Vec<AskedErasure>) = asked
            .into_iter()
            .partition(|asked| is_gone(asked) && !not_normalized.contains(&asked.owner));
        // The writer is dropped above, because others must be able to write the lake as soon as the erasures count as
        // done.
        store.erasures().done(&done)?;
        for asked in left.iter().filter(|asked| !is_gone(asked)) {
            let authorization = asked.authorizations.first();
            let left = remains.get(&asked.id).map(|left| left.join(", "));
            tracing::warn!(
                authorization,
                left,
                "records are hidden and not erased yet; it is tried again"
            );
        }
        came.done += done.len();
        came.left += left.len();
    }
}

/// Erases the rows of requests, unless the rows are gone already. Returns what remains on disk, in words for the log,
/// by the id of the request. If something remains, the request is not completed, because a receipt for it would be
/// wrong.
fn erase_rows(writer: &mut LakeWriter, asked: &[AskedErasure]) -> Result<BTreeMap<i64, Vec<String>>, LakeError> {
    let unfinished = || vec!["files that could not be replaced or removed".to_owned()];
    let known = writer.unfinished();
    let of_rows = asked.iter().filter(|asked| !asked.gone);
    let of_rows = of_rows.map(|asked| (asked.id, intent(asked)));
    let (blocked, fresh): (Vec<_>, Vec<_>) = of_rows.partition(|(_, intent)| known.contains(intent));
    let mut remains: BTreeMap<i64, Vec<String>> = blocked.into_iter().map(|(id, _)| (id, unfinished())).collect();
    if fresh.is_empty() {
        return Ok(remains);
    }
    let (ids, intents): (Vec<i64>, Vec<Intent>) = fresh.into_iter().unzip();
    let done = writer.erase_all(&intents)?;
    let known = writer.unfinished();
    for ((id, intent), done) in ids.into_iter().zip(&intents).zip(done) {
        if !done.left.is_empty() {
            remains.insert(id, done.left);
        } else if known.contains(intent) {
            remains.insert(id, unfinished());
        }
    }
    Ok(remains)
}

/// Moves the proofs of finished erasures from the lake into the store. They are stored first, and then removed from the
/// lake.
fn take_down(store: &Store, writer: &mut LakeWriter, over: Vec<AskedErasure>) -> Result<(), EraseError> {
    if over.is_empty() {
        return Ok(());
    }
    let intents: Vec<Intent> = over.iter().map(intent).collect();
    let mut about = Vec::with_capacity(over.len());
    for (asked, intent) in over.iter().zip(&intents) {
        let mut patients: Vec<String> = asked.patient.iter().cloned().collect();
        for authorization in &asked.authorizations {
            let known = store.authorizations().get(authorization)?;
            patients.extend(known.and_then(|known| known.patient));
        }
        about.push((intent.clone(), patients));
    }
    let evidence = writer.evidence(&about)?;
    let (ids, numbers) = writer.erased_ids(&intents);
    let searched = store.search_ids(ids, &numbers)?;
    let proofs = evidence
        .into_iter()
        .zip(searched)
        .map(|(lake, store)| Proof { lake, store });
    // If the lake's evidence were removed first, a failure could lose it. Evidence that is stored twice is reported
    // once.
    store.erasures().keep_proofs(over.into_iter().zip(proofs).collect())?;
    Ok(writer.forget_evidence(&intents)?)
}

/// Normalizes each person's remaining records again. Removes the earlier versions of these records, because they may
/// contain values from the erased rows. Returns the owners for whom this failed. Their erasures stay requested.
///
/// If a file blocks an erasure, the erased rows are hidden but not gone. Then a failed normalization is not tried again
/// until these rows are gone.
fn normalize_what_is_left(
    store: &Store,
    writer: &mut LakeWriter,
    asked: &[AskedErasure],
    is_gone: &dyn Fn(&AskedErasure) -> bool,
    rules: &Normalization,
) -> Result<BTreeSet<i64>, EraseError> {
    let (mut done, mut failed) = (BTreeSet::new(), BTreeSet::new());
    let (mut whose, mut earlier, mut of) = (Vec::new(), Vec::new(), Vec::new());
    // After the erasure of a Patient's imported records, nothing is left to normalize. So take only the erasures of
    // synced records.
    let synced = asked.iter().filter(|asked| asked.patient.is_none());
    let due = synced.filter(|asked| is_gone(asked) || asked.failures == 0);
    for asked in due.filter(|asked| done.insert(asked.owner)) {
        let options = Options {
            mode: asked.mode,
            application: asked.application.clone(),
            normalize: Some(rules.clone()),
            ..Options::default()
        };
        match ingest::normalize_again(writer, options, asked.owner) {
            Ok(summary) if summary.unreadable == 0 => {
                if let Some(intent) = whole(store, asked)? {
                    whose.push(asked);
                    earlier.push(intent);
                    of.push(self::intent(asked));
                }
            }
            Ok(summary) => {
                failed.insert(asked.owner);
                say(asked, &format!("{} rows cannot be read", summary.unreadable));
            }
            Err(error) => {
                failed.insert(asked.owner);
                say(asked, &error.to_string());
            }
        }
    }
    let left = if earlier.is_empty() {
        Vec::new()
    } else {
        writer
            .erase_superseded(&earlier, &of)
            .unwrap_or_else(|error| vec![vec![error.to_string()]; earlier.len()])
    };
    for (asked, left) in whose.into_iter().zip(left) {
        if !left.is_empty() {
            failed.insert(asked.owner);
            say(asked, &left.join(", "));
        }
    }
    Ok(failed)
}

/// Logs that a person's records could not be normalized: the first time as a warning, later as a debug message. The
/// normalization is tried again until it succeeds.
fn say(asked: &AskedErasure, why: &str) {
    let authorization = asked.authorizations.first();
    if asked.failures == 0 {
        tracing::warn!(
            authorization,
            why,
            "what an erasure leaves could not be normalized anew; it is tried again"
        );
    } else {
        tracing::debug!(
            authorization,
            why,
            "what an erasure leaves could still not be normalized"
        );
    }
}

/// Returns the intent to erase rows of all authorizations of the consent. Returns `None` if the erasure covers all of
/// them already.
fn whole(store: &Store, asked: &AskedErasure) -> Result<Option<Intent>, EraseError> {
    let of_consent = store.authorizations().of_consent(&asked.consent)?.into_iter();
    let authorizations: Vec<String> = of_consent.map(|authorization| authorization.id).collect();
    if authorizations.iter().all(|id| asked.authorizations.contains(id)) {
        return Ok(None);
    }
    let mut intent = intent(asked);
    intent.patient.authorizations = authorizations;
    Ok(Some(intent))
}

/// Returns the intent to erase what the syncs of the request's authorizations stored, or a Patient's imported rows.
pub fn intent(asked: &AskedErasure) -> Intent {
    Intent {
        mode: asked.mode,
        application: asked.application.clone(),
        patient: PatientScope {
            patients: asked.patient.iter().cloned().collect(),
            owners: vec![asked.owner],
            authorizations: asked.authorizations.clone(),
        },
    }
}
