//! Owners of filed resources, and the rows of normalized resources.

use super::super::contexts::Filed;
use super::super::input::filing::Filing;
use super::super::input::normalize::{Normalized, Normalizer};
use super::block::{Block, Content, Origin, SharedRefs};
use crate::lake::file::digest;
use crate::lake::owners::owner::{APPLICATION_ONLY, OwnerKey, SHARED};

/// Assigns owners to filed resources.
#[derive(Debug)]
pub(in crate::ingest) struct Owners {
    key: OwnerKey,
    application: String,
    /// Whether to compute digests. Not for texts that the rules may change.
    takes_digests: bool,
}

impl Owners {
    pub(in crate::ingest) fn new(key: OwnerKey, application: &str, takes_digests: bool) -> Self {
        Self {
            key,
            application: application.to_owned(),
            takes_digests,
        }
    }

    /// Adds the last resource of `normalizer` to a block.
    pub(in crate::ingest) fn push(
        &self,
        block: &mut Block,
        normalized: &Normalized,
        normalizer: &Normalizer,
        origin: Origin,
        ordinal: u64,
    ) {
        let (owner, patient) = match &normalized.filing {
            _ if let Some(naming) = normalizer.naming() => (naming.owner(), Some(naming.patient().to_owned())),
            Filing::Person(patient) => {
                let owner = self.key.owner_of(&self.application, patient);
                (owner, Some(normalizer.stored_patient_id(patient)))
            }
            // If its filing is unknown, nobody sees it.
            Filing::As(..) | Filing::ApplicationOnly => (APPLICATION_ONLY, None),
            Filing::Shared => (SHARED, None),
        };
        self.push_filed(
            block,
            normalized,
            normalizer,
            &Filed { owner, patient },
            origin,
            ordinal,
        );
    }

    /// Adds it to a block with this filing.
    pub(in crate::ingest) fn push_filed(
        &self,
        block: &mut Block,
        normalized: &Normalized,
        normalizer: &Normalizer,
        filed: &Filed,
        origin: Origin,
        ordinal: u64,
    ) {
        let digest = if self.takes_digests {
            digest(normalizer.text().as_bytes())
        } else {
            [0; 16]
        };
        block.push(&Content {
            ordinal,
            owner: filed.owner,
            digest,
            origin,
            splice: normalized.splice,
            id: &normalized.id,
            source_id: &normalized.source_id,
            patient: filed.patient.as_deref(),
            shared_refs: SharedRefs::List(&normalized.shared_refs),
            text: normalizer.text(),
            identifiers: &normalizer.identifiers,
        });
    }
}
