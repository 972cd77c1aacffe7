//! Rewrites ids to UUIDv8s. The first half is an owner. The second half is a keyed hash of the resource's type, of its
//! id in the input, and of the application for an import or of the endpoint for a sync.
//!
//! A rewritten reference must have the id of its target, and that id contains the target's owner. A sync has one owner.
//! An import must know the owners of all resources before it writes the first one. So it reads the input twice. In the
//! first pass, [`Survey`] stores the owner of every resource that belongs to a person (about 20 bytes each).

use rustc_hash::FxHashMap;

use super::super::rows::block::Block;
use super::super::sync::synced::Naming;
use crate::fhir::{TypeId, facts};
use crate::lake::owners::owner::{APPLICATION_ONLY, OwnerKey, assemble};

/// The owners of the input's resources, collected in the first pass.
#[derive(Debug)]
pub(in crate::ingest) struct Survey {
    key: OwnerKey,
    application: String,
    owners: FxHashMap<u64, i64>,
}

/// Computes the new ids of resources.
#[derive(Debug)]
pub(in crate::ingest) enum Rewrite {
    /// The new ids of an import. A survey has read its input before.
    Surveyed(Survey),
    /// The new ids of a sync.
    Synced(Box<Naming>),
}

impl Survey {
    pub(in crate::ingest) fn new(key: OwnerKey, application: &str) -> Self {
        Self {
            key,
            application: application.to_owned(),
            owners: FxHashMap::default(),
        }
    }

    /// Stores the owners of a block's resources. Of several versions of a resource, the last one counts.
    pub(in crate::ingest) fn note(&mut self, block: &Block) {
        for entry in &block.entries {
            let hash = self.hash(block.type_id, block.id(entry));
            if entry.owner > APPLICATION_ONLY {
                self.owners.insert(hash, entry.owner);
            } else if !self.owners.is_empty() {
                self.owners.remove(&hash);
            }
        }
    }

    /// Returns the owner of a resource. Returns `None` if it belongs to no person or was not in the input.
    pub(in crate::ingest) fn owner(&self, type_id: TypeId, id: &str) -> Option<i64> {
        self.owners.get(&self.hash(type_id, id)).copied()
    }

    pub(in crate::ingest) fn finish(self) -> Rewrite {
        Rewrite::Surveyed(self)
    }

    fn hash(&self, type_id: TypeId, id: &str) -> u64 {
        self.key.hash(&self.application, facts().get(type_id).name, id)
    }
}

impl Rewrite {
    /// Returns the new id of a Patient, even if the survey has not seen it. A sync has only one Patient.
    pub(in crate::ingest) fn patient_id(&self, id: &str) -> String {
        match self {
            Rewrite::Surveyed(survey) => survey.patient_id(id),
            Rewrite::Synced(naming) => naming.patient().to_owned(),
        }
    }

    /// Returns the new id of a resource.
    pub(in crate::ingest) fn id(&self, type_id: TypeId, id: &str) -> String {
        match self {
            Rewrite::Surveyed(survey) => survey.id(type_id, id),
            Rewrite::Synced(naming) => naming.id(type_id, id),
        }
    }

    /// Returns the naming of a sync. Returns `None` for an import.
    pub(in crate::ingest) fn naming(&self) -> Option<&Naming> {
        match self {
            Rewrite::Surveyed(_) => None,
            Rewrite::Synced(naming) => Some(naming),
        }
    }
}

impl Survey {
    fn patient_id(&self, id: &str) -> String {
        let owner = self.key.owner_of(&self.application, id);
        assemble(owner, self.key.hash(&self.application, "Patient", id))
    }

    /// Returns the new id of a resource. A Patient always has an owner of its own. Any other resource without a known
    /// owner counts as belonging to no person.
    fn id(&self, type_id: TypeId, id: &str) -> String {
        let hash = self.hash(type_id, id);
        let owner = match self.owners.get(&hash) {
            Some(owner) => *owner,
            None if facts().get(type_id).name == "Patient" => return self.patient_id(id),
            // No Patient has an empty id, so this number stands for no person.
            None => self.key.owner_of(&self.application, ""),
        };
        assemble(owner, hash)
    }
}
