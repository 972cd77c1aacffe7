//! Rewrites ids as a sync would assign them: UUIDv8s whose first half is an owner and whose second half is a keyed hash
//! of the type and the source's id.
//!
//! A rewritten reference must have exactly the id of its target. So the filing of every resource must be known before
//! the first one is written. The input is read twice, and [`Survey`] remembers the owner of every resource that is
//! filed under a person (about 20 bytes each).

use rustc_hash::FxHashMap;

use super::super::rows::block::Block;
use super::super::sync::synced::Naming;
use crate::fhir::{TypeId, facts};
use crate::lake::owners::owner::{APPLICATION_ONLY, OwnerKey, assemble};

/// Owners of the input's resources, collected in a first reading.
#[derive(Debug)]
pub(in crate::ingest) struct Survey {
    key: OwnerKey,
    application: String,
    owners: FxHashMap<u64, i64>,
}

/// Gives the resources of an input their new ids.
#[derive(Debug)]
pub(in crate::ingest) enum Rewrite {
    /// The rewrite of an import with a survey.
    Surveyed(Survey),
    /// The rewrite of a sync.
    Synced(Naming),
}

impl Survey {
    pub(in crate::ingest) fn new(key: OwnerKey, application: &str) -> Self {
        Self {
            key,
            application: application.to_owned(),
            owners: FxHashMap::default(),
        }
    }

    /// Notes the filings of the resources of a block. The last version of a resource decides.
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

    /// The owner of a resource that is filed under a person, if the survey has seen it.
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
    /// The new id of a Patient, whether the survey has seen it or not.
    pub(in crate::ingest) fn patient_id(&self, id: &str) -> String {
        match self {
            Rewrite::Surveyed(survey) => survey.patient_id(id),
            Rewrite::Synced(naming) => naming.patient().to_owned(),
        }
    }

    /// The new id of a resource.
    pub(in crate::ingest) fn id(&self, type_id: TypeId, id: &str) -> String {
        match self {
            Rewrite::Surveyed(survey) => survey.id(type_id, id),
            Rewrite::Synced(naming) => naming.id(type_id, id),
        }
    }

    /// The names and marks that a sync gives to resources, if it is a sync.
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

    /// A resource that the survey did not see counts as filed under no person. A Patient is always filed under itself.
    fn id(&self, type_id: TypeId, id: &str) -> String {
        let hash = self.hash(type_id, id);
        let owner = match self.owners.get(&hash) {
            Some(owner) => *owner,
            None if facts().get(type_id).name == "Patient" => return self.patient_id(id),
            // No patient has an empty id, so this means no person.
            None => self.key.owner_of(&self.application, ""),
        };
        assemble(owner, hash)
    }
}
