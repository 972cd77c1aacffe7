//! Erases one person's imported records from the lake, ends the tokens that the service issued for them, and signs a
//! receipt.
//!
//! Records that the syncs of a patient's consent stored are not erased here. They are erased with the consent
//! (`sync::erase`).

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::consent::{Clock, ErasureJob, Forgotten, Proof, Store};
use crate::fhir::facts;
use crate::lake::scan::ScanError;
use crate::lake::{Erased, Evidence, Intent, Lake, LakeError, LakeWriter, Mode, PatientScope, REFRESH, Scope};

/// The time that running servers need to notice that records are being erased.
const NOTICED: Duration = REFRESH.saturating_add(Duration::from_millis(500));

/// The erasure of one person's records.
#[derive(Debug)]
pub struct PersonErasure {
    data: PathBuf,
    lake: Lake,
    intent: Intent,
    patient: String,
    asked_at: i64,
}

/// The result of an erasure of a person.
#[derive(Debug)]
pub struct PersonErased {
    /// What was erased from the lake. `erased.left` also has texts about what remains in the service's store. Each text
    /// occurs once.
    pub erased: Erased,
    /// The number of consents of the operator that the erasure has ended, together with their tokens.
    pub consents: u64,
    /// The receipt. `None` if something remains. If the receipt is an error, the records are erased nevertheless.
    pub receipt: Option<Result<String, Box<dyn Error>>>,
}

/// Records that an erasure does not remove, although they name the person or belong to the person.
#[derive(Debug, Default)]
pub struct Staying {
    /// The number of resources that refer to the person but are not filed under one person, by type.
    pub named: Vec<(&'static str, u64)>,
    /// The number of records of the person that the syncs of a consent stored.
    pub synced: u64,
    /// The types with a file that cannot be read. The records of these types are not counted completely.
    pub unread: Vec<&'static str>,
}

impl PersonErasure {
    /// Prepares the erasure of a person's records, requested now.
    pub fn new(data: &Path, lake: &Lake, mode: Mode, application: &str, patient: &str) -> PersonErasure {
        PersonErasure {
            data: data.to_owned(),
            lake: lake.clone(),
            intent: Intent {
                mode,
                patient: PatientScope {
                    owners: lake.owners_of(application, patient),
                    patients: vec![patient.to_owned()],
                    authorizations: Vec::new(),
                },
                application: application.to_owned(),
            },
            patient: patient.to_owned(),
            asked_at: Clock::System.now(),
        }
    }

    /// Counts the resources that would be erased, by type. Erases nothing.
    pub fn counts(&self) -> Result<Vec<(&'static str, u64)>, ScanError> {
        let snapshot = self.lake.snapshot();
        let scope = self.scope(Some(Arc::new(self.intent.patient.clone())));
        let mut counts = Vec::new();
        for table in snapshot.tables.values().filter(|table| table.mode == self.intent.mode) {
            let rows = self.lake.table(&snapshot, table.type_id, &scope).own_rows()?;
            counts.extend((rows > 0).then(|| (facts().get(table.type_id).name, rows)));
        }
        Ok(counts)
    }

    /// Erases the records. Calls `finished` for each interrupted erasure of another person that the writer has
    /// finished. Returns `None` if there was nothing to erase, nothing remains, no consent ended, and no earlier
    /// erasure has left evidence for a receipt.
    pub fn run(
        &self,
        writer: &mut LakeWriter,
        finished: impl FnMut(&Intent),
    ) -> Result<Option<PersonErased>, PersonErasureError> {
        writer.let_readers_notice(NOTICED);
        let (consents, not_forgotten) = self.end_tokens();
        let mut erased = self.resumed(writer, finished);
        let now = writer
            .erase_all(std::slice::from_ref(&self.intent))
            .map_err(PersonErasureError::Erase)?;
        let earlier = std::mem::take(&mut erased.left);
        erased = now.into_iter().fold(erased, together);
        // This call records no erasure if the files have no rows any more. An earlier one may still be unfinished.
        if writer.unfinished().iter().any(|other| self.is_own(other)) {
            erased.left.extend(earlier);
        }
        erased.left.extend(not_forgotten);
        let about = [(self.intent.clone(), vec![self.patient.clone()])];
        let evidence = writer.evidence(&about).map_err(PersonErasureError::Evidence)?;
        let evidence = evidence.into_iter().next_back().unwrap_or_default();
        if erased.rows == 0 && erased.left.is_empty() && consents == 0 && evidence.before.is_none() {
            return Ok(None);
        }
        let mut left: Vec<String> = Vec::new();
        for clause in std::mem::take(&mut erased.left) {
            if !left.contains(&clause) {
                left.push(clause);
            }
        }
        erased.left = left;
        let receipt = erased.left.is_empty().then(|| self.receipt(writer, evidence));
        Ok(Some(PersonErased {
            erased,
            consents,
            receipt,
        }))
    }

    /// Counts the records that stay. `going` is the number of the person's resources that will be erased but are still
    /// there. They are subtracted, because they are filed under the Patient like the synced ones.
    pub fn staying(&self, going: u64) -> Staying {
        let snapshot = self.lake.snapshot();
        let scope = self.scope(None);
        let mut staying = Staying::default();
        for table in snapshot.tables.values().filter(|table| table.mode == self.intent.mode) {
            let rows = self.lake.table(&snapshot, table.type_id, &scope);
            let name = facts().get(table.type_id).name;
            let filed = rows.filed_under(&self.intent.patient.owners, &self.patient);
            match filed.and_then(|filed| Ok((filed, rows.mentions(&self.patient)?))) {
                Ok((filed, count)) => {
                    staying.synced += filed;
                    staying.named.extend((count > 0).then_some((name, count)));
                }
                Err(_) => staying.unread.push(name),
            }
        }
        staying.synced = staying.synced.saturating_sub(going);
        staying
    }

    fn scope(&self, patient: Option<Arc<PatientScope>>) -> Arc<Scope> {
        Arc::new(Scope {
            mode: self.intent.mode,
            application: self.intent.application.as_str().into(),
            patient,
        })
    }

    /// Ends the operator's consents for the person's imported records, and the tokens of these consents. Returns how
    /// many consents ended. Also returns a text for each part of the service's store in which the person's data may
    /// remain.
    fn end_tokens(&self) -> (u64, Vec<String>) {
        let forgotten = Store::open_existing(&self.data, Clock::System).and_then(|store| {
            let Intent { application, mode, .. } = &self.intent;
            let forget = |store: Store| store.forget_imported(application, *mode, &self.patient);
            store.map_or(Ok(Forgotten::default()), forget)
        });
        match forgotten {
            Ok(Forgotten {
                consents,
                log_stays: false,
            }) => (consents, Vec::new()),
            Ok(Forgotten { consents, .. }) => {
                let left = "the log of service.sqlite, which could not be emptied while another program reads it";
                (consents, vec![left.to_owned()])
            }
            Err(error) => (
                0,
                vec![format!("service.sqlite ({error}); then run this command again")],
            ),
        }
    }

    /// Whether an erasure is of this person. The owners may differ: a Patient whose rows are gone from all files has no
    /// owner.
    fn is_own(&self, other: &Intent) -> bool {
        let is_same = (other.mode, &other.application) == (self.intent.mode, &self.intent.application);
        is_same && other.patient.patients.contains(&self.patient)
    }

    /// Returns the result of interrupted erasures of this person that the writer has continued. Calls `finished` for
    /// each erasure of another person that the writer has completed.
    fn resumed(&self, writer: &LakeWriter, mut finished: impl FnMut(&Intent)) -> Erased {
        let mut own = Erased::default();
        for (other, erased) in writer.resumed() {
            if self.is_own(other) {
                own = together(own, erased.clone());
            } else if erased.left.is_empty() {
                finished(other);
            }
        }
        own
    }

    /// Searches the service's store for the erased ids, and signs and stores the receipt.
    fn receipt(&self, writer: &mut LakeWriter, lake: Evidence) -> Result<String, Box<dyn Error>> {
        let intents = std::slice::from_ref(&self.intent);
        let store = Store::open(&self.data, Clock::System)?;
        let (ids, numbers) = writer.erased_ids(intents);
        let searched = store.search_ids(ids, &numbers)?.pop().unwrap_or_default();
        let job = ErasureJob::of_command(&self.intent.application, self.intent.mode, self.asked_at);
        let proof = Proof { lake, store: searched };
        let receipt = store
            .erasure_jobs()
            .sign_receipt(&job, std::slice::from_ref(&self.patient), &proof)?;
        store.erasure_jobs().keep_receipt_of_command(&job, &receipt)?;
        writer.forget_evidence(intents)?;
        Ok(receipt)
    }
}

/// The reason why no records are erased, or why their erasure cannot be proved.
#[derive(Debug, thiserror::Error)]
pub enum PersonErasureError {
    /// The lake returned an error. No records are erased.
    #[error("no records are erased: {0}")]
    Erase(#[source] LakeError),
    /// The records are erased, but the evidence cannot be read.
    #[error(transparent)]
    Evidence(LakeError),
}

fn together(mut one: Erased, other: Erased) -> Erased {
    for (type_id, count) in other.resources {
        *one.resources.entry(type_id).or_default() += count;
    }
    one.rows += other.rows;
    one.attachments += other.attachments;
    one.files_rewritten += other.files_rewritten;
    one.files_removed += other.files_removed;
    one.left = other.left;
    one
}
