//! Records of nobody that an import brings: practitioners, organizations, locations and drugs. A unit is shown those
//! that its own records refer to.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::fhir::{TypeId, facts};
use crate::ingest::block::{Block, Entry};

/// Types that rules ask about.
const ASKED: [&str; 5] = [
    "Location",
    "Medication",
    "Organization",
    "Practitioner",
    "PractitionerRole",
];
/// Most bytes of texts. What comes after them is not shown to units.
const MAX_BYTES: usize = 256 << 20;
/// How far references lead on, as from a role to its organization.
const ROUNDS: usize = 3;

/// The last texts of records of nobody, by `Type/id`.
#[derive(Debug, Default)]
pub(super) struct Shared {
    records: FxHashMap<String, SharedRecord>,
    bytes: usize,
}

/// A record of nobody.
#[derive(Debug)]
pub(super) struct SharedRecord {
    pub(super) resource_type: TypeId,
    pub(super) id: String,
    pub(super) text: Box<str>,
    /// What it refers to, as `Type/id`.
    refers_to: Vec<String>,
}

impl Shared {
    /// Whether rules ask about what a reference `Type/id` leads to.
    pub(super) fn is_asked(reference: &str) -> bool {
        let name = reference.split('/').next().unwrap_or_default();
        ASKED.contains(&name)
    }

    /// Keeps a record.
    pub(super) fn note(&mut self, block: &Block, entry: &Entry) {
        let name = format!("{}/{}", facts().get(block.ty).name, block.id(entry));
        let text = block.text(entry);
        if !Shared::is_asked(&name) || self.bytes + text.len() > MAX_BYTES {
            return;
        }
        self.bytes += text.len();
        let record = SharedRecord {
            resource_type: block.ty,
            id: block.id(entry).to_owned(),
            text: text.into(),
            refers_to: block
                .shared_refs(entry)
                .filter(|name| Shared::is_asked(name))
                .map(str::to_owned)
                .collect(),
        };
        if let Some(earlier) = self.records.insert(name, record) {
            self.bytes -= earlier.text.len();
        }
    }

    /// The records that these references lead to, and those that they lead to, in order.
    pub(super) fn reached(&self, mut names: BTreeSet<String>) -> Vec<&SharedRecord> {
        for _ in 0..ROUNDS {
            let records = names.iter().filter_map(|name| self.records.get(name));
            let more: Vec<String> = records
                .flat_map(|record| &record.refers_to)
                .filter(|name| !names.contains(*name))
                .cloned()
                .collect();
            if more.is_empty() {
                break;
            }
            names.extend(more);
        }
        names.iter().filter_map(|name| self.records.get(name)).collect()
    }
}
