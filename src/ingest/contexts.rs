//! Files Binaries that belong to another resource. R4's `Binary.securityContext` refers to a resource whose access
//! rules apply to the Binary. The Binary gets the owner and the patient of that resource, which may be in the input or
//! in the lake.
//!
//! Such a Binary waits for the end of the input. Then the import looks up the resources of all these Binaries at once.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::references::condition::Keys;
use super::rows::block::{Block, Entry};
use crate::fhir::{TypeId, facts};
use crate::lake::owners::owner::APPLICATION_ONLY;

/// Types of resources to which the `securityContext` of a Binary may refer. An import with rules remembers the filings
/// of all their resources while it reads, because it cannot search its input later.
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

/// The resources to which Binaries belong: their stored ids by type.
pub(super) type Wanted = BTreeMap<TypeId, FxHashSet<String>>;

/// The owner and the patient under which a resource is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filed {
    pub(super) owner: i64,
    pub(super) patient: Option<String>,
}

/// The filings of resources, by a hash of type and id.
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

    /// Adds the filings of a block's resources, if Binaries may belong to them. Of several versions of a resource, the
    /// last one counts.
    pub(super) fn note(&mut self, block: &Block) {
        if NOTED.contains(&facts().get(block.type_id).name) {
            for entry in &block.entries {
                self.add(block.type_id, block.id(entry), Filed::of(block, entry));
            }
        }
    }

    /// Adds the filings of a block's wanted resources.
    pub(super) fn note_wanted(&mut self, block: &Block, wanted: &FxHashSet<String>) {
        for entry in block.entries.iter().filter(|entry| wanted.contains(block.id(entry))) {
            self.add(block.type_id, block.id(entry), Filed::of(block, entry));
        }
    }

    pub(super) fn add(&mut self, type_id: TypeId, id: &str, filed: Filed) {
        self.filed.insert(self.keys.identity(type_id, id), filed);
    }

    /// Adds the entries of `others`. They are newer and replace existing entries.
    pub(super) fn add_all(&mut self, others: &Contexts) {
        self.filed
            .extend(others.filed.iter().map(|(key, filed)| (*key, filed.clone())));
    }

    /// Returns the filing of a resource to which a Binary belongs. If this filing is unknown, returns one under which
    /// only the application sees the Binary.
    pub(super) fn of(&self, type_id: TypeId, id: &str) -> Filed {
        let found = self.filed.get(&self.keys.identity(type_id, id)).cloned();
        found.unwrap_or(Filed {
            owner: APPLICATION_ONLY,
            patient: None,
        })
    }
}
