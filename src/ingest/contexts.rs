//! Binaries that belong to another resource: R4's `securityContext` names the resource whose access rules apply. The
//! Binary is filed like that resource, which may be in the input or in the lake.
//!
//! Such a Binary waits for the end of the input. Then all these resources are looked up at once.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::references::condition::Keys;
use super::rows::block::{Block, Entry};
use crate::fhir::{TypeId, facts};
use crate::lake::owners::owner::APPLICATION_ONLY;

/// Possible targets of Binaries, for imports with rules. They are noted while records are read, because the input
/// cannot be searched later.
const NOTED: [&str; 10] = [
    "CarePlan",
    "Communication",
    "Composition",
    "Consent",
    "DiagnosticReport",
    "DocumentManifest",
    "DocumentReference",
    "ImagingStudy",
    "Media",
    "QuestionnaireResponse",
];

/// The resources to which Binaries belong, by type, with their ids as stored.
pub(super) type Wanted = BTreeMap<TypeId, FxHashSet<String>>;

/// The filing of a resource, in its stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filed {
    pub(super) owner: i64,
    pub(super) patient: Option<String>,
}

/// The filings of resources.
#[derive(Debug)]
pub(super) struct Contexts {
    keys: Keys,
    filed: FxHashMap<u128, Filed>,
}

impl Filed {
    fn of(block: &Block, entry: &Entry) -> Filed {
        Filed {
            owner: entry.owner,
            patient: block.patient(entry).map(str::to_owned),
        }
    }
}

impl Contexts {
    pub(super) fn new(keys: Keys) -> Contexts {
        Contexts {
            keys,
            filed: FxHashMap::default(),
        }
    }

    /// Notes the resources of a block to which Binaries may belong. The last version of a resource decides.
    pub(super) fn note(&mut self, block: &Block) {
        if NOTED.contains(&facts().get(block.type_id).name) {
            for entry in &block.entries {
                self.add(block.type_id, block.id(entry), Filed::of(block, entry));
            }
        }
    }

    /// Notes the wanted resources of a block.
    pub(super) fn note_wanted(&mut self, block: &Block, wanted: &FxHashSet<String>) {
        for entry in block.entries.iter().filter(|entry| wanted.contains(block.id(entry))) {
            self.add(block.type_id, block.id(entry), Filed::of(block, entry));
        }
    }

    pub(super) fn add(&mut self, type_id: TypeId, id: &str, filed: Filed) {
        self.filed.insert(self.keys.identity(type_id, id), filed);
    }

    /// Adds the entries of `others`, which are newer.
    pub(super) fn add_all(&mut self, others: &Contexts) {
        self.filed
            .extend(others.filed.iter().map(|(key, filed)| (*key, filed.clone())));
    }

    /// The filing of a resource. If the filing is unknown, only the application sees the Binary.
    pub(super) fn of(&self, type_id: TypeId, id: &str) -> Filed {
        let found = self.filed.get(&self.keys.identity(type_id, id)).cloned();
        found.unwrap_or(Filed {
            owner: APPLICATION_ONLY,
            patient: None,
        })
    }
}
