//! Commits a spool to the lake: one snapshot with all of a job's records, or none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::source::{Trouble, internal};
use super::spool::Spool;
use crate::consent::{BegunJob, Endpoint, Store};
use crate::ingest::{self, Normalization, Options, SourceBase, Summary, Synced, SyncedAttachment, addresses};
use crate::lake::{Lake, LakeError, LakeWriter};

/// The time between attempts to get the lake's writer while another process writes.
const LOCK_RETRY: Duration = Duration::from_millis(50);

/// What a commit needs.
pub(super) struct Commit {
    pub(super) lake: Lake,
    pub(super) store: Arc<Store>,
    pub(super) begun: BegunJob,
    pub(super) endpoint: Endpoint,
    /// The source's FHIR base, in all forms that its answers have shown.
    pub(super) base: SourceBase,
    pub(super) source_patient: String,
    /// The id that the source itself writes for this Patient, if it is another one.
    pub(super) alias: Option<String>,
    /// The ids of further Patients that the source links to this one.
    pub(super) linked: BTreeSet<String>,
    pub(super) rules: Normalization,
    pub(super) spool: Spool,
    pub(super) attachments: Vec<SyncedAttachment>,
    /// Whether the service generated the Patient among the records.
    pub(super) generated_patient: bool,
}

impl Commit {
    /// Commits the records, unless the job was stopped. The job checks this while it holds the lake's writer. An
    /// erasure needs the writer, too. So either the erasure comes later and erases the new rows, or the job sees here
    /// that the consent has ended.
    pub(super) fn carry_out(self) -> Result<Summary, Trouble> {
        let mut writer = self.writer()?;
        if !self.stands()? {
            return Err(Trouble::Stopped);
        }
        let consent = &self.begun.consent;
        let owner = consent.owner.ok_or_else(|| internal("the consent has no owner"))?;
        let options = Options {
            mode: consent.mode,
            application: consent.application.clone(),
            normalize: Some(Normalization {
                dangling: self.dangling()?,
                ..self.rules.clone()
            }),
            ..Options::default()
        };
        let synced = Synced {
            owner,
            authorization: self.begun.authorization.id.clone(),
            endpoint: self.endpoint.id.clone(),
            base: self.base.clone(),
            identifier_system: self.endpoint.identifier_system.clone(),
            source_patient: self.source_patient.clone(),
            alias: self.alias.clone(),
            linked: self.linked.clone(),
            tags: self.rules.tag_system_base.clone(),
            generated_patient: self.generated_patient,
            addresses: addresses(&self.attachments),
        };
        ingest::sync(&mut writer, options, synced, &self.spool.files(), &self.attachments).map_err(internal)
    }

    /// Returns for each dangling reference the number of syncs before this job in which its target was missing. A retry
    /// belongs to the sync before it, so it does not count that sync once more.
    fn dangling(&self) -> Result<BTreeMap<u64, u32>, Trouble> {
        let known = self.store.dangling().of_authorization(&self.begun.authorization.id);
        let mut known = known.map_err(internal)?;
        if self.begun.job.is_retry() {
            known.values_mut().for_each(|syncs| *syncs = syncs.saturating_sub(1));
            known.retain(|_, syncs| *syncs > 0);
        }
        Ok(known)
    }

    /// Waits for the lake's writer, as long as the job is not stopped.
    fn writer(&self) -> Result<LakeWriter, Trouble> {
        loop {
            match self.lake.writer() {
                Ok(writer) => return Ok(writer),
                Err(LakeError::Busy { .. }) if self.stands()? => std::thread::sleep(LOCK_RETRY),
                Err(LakeError::Busy { .. }) => return Err(Trouble::Stopped),
                Err(error) => return Err(internal(error)),
            }
        }
    }

    fn stands(&self) -> Result<bool, Trouble> {
        self.store.jobs().stands(&self.begun.job.id).map_err(internal)
    }
}
