//! Assigns owners to filed resources, and adds normalized resources to blocks.

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
    /// Whether to compute digests. It is `false` if the rules may still change the texts.
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

    /// Adds the resource that `normalizer` normalized last to a block, with the owner and the patient of its filing.
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
            // Only the application sees a resource whose person is unclear.
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

    /// Adds the resource that `normalizer` normalized last to a block, with this owner and this patient.
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
