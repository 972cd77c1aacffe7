//! The facts of a consent's records that the rules of this module need: possible targets of references, and the values
//! that practitioners, organizations and locations can gain from each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::index::{EntryIndex, Index};
use super::knowledge::{Gain, Knowledge};
use crate::fhir::facts;
use crate::normalize::form;
use crate::normalize::record::{Record, Source, SourceId};
use crate::normalize::settings::Settings;

/// The facts of all records. A record's facts are its type, id, source and name, and hashes of its id, of its address
/// and (for people, organizations and the like) of its identifiers. Equal names are stored once. If there are several
/// sources, the facts also include names, addresses, telecoms and taxonomy codes of practitioners, organizations and
/// locations with an NPI.
#[derive(Debug, Default)]
pub struct Facts {
    pub(super) index: Index,
    knowledge: Knowledge,
    pub(super) sources: Arc<[Source]>,
    pub(super) gains: FxHashMap<EntryIndex, Vec<Gain>>,
    /// The links of each Patient: the Patients of the other sources. A source takes part only if it has exactly one
    /// Patient.
    pub(super) patients: FxHashMap<EntryIndex, Vec<EntryIndex>>,
    /// The source that is being synced. `dangling` is about its references. For each reference whose target was missing
    /// in the last sync, it has the number of syncs in a row in which the target was missing. The key is a hash of the
    /// reference.
    pub(super) synced: Option<SourceId>,
    pub(super) dangling: BTreeMap<u64, u32>,
}

impl Facts {
    /// Sets the source that is being synced. `dangling` has the counts of missing targets that the source's last sync
    /// reported.
    pub(in crate::normalize) fn recall(&mut self, source: SourceId, dangling: BTreeMap<u64, u32>) {
        self.synced = Some(source);
        self.dangling = dangling;
    }

    /// Adds the facts of a record.
    pub(in crate::normalize) fn see(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        let base = settings
            .sources
            .get(record.source.0 as usize)
            .map_or("", |source| source.fhir_base.as_str());
        let place = self.index.add(record, base, settings.codes);
        if settings.sources.len() > 1 {
            self.knowledge.see(record, place);
        }
    }

    /// Computes names, gained values and links of Patients, after all records were seen.
    pub(in crate::normalize) fn decide(
        mut self,
        settings: &Settings<'_>,
        sources: Arc<[Source]>,
        form: &form::Facts,
    ) -> Facts {
        self.sources = sources;
        self.index.decide(form);
        let knowledge = std::mem::take(&mut self.knowledge);
        self.gains = knowledge.decide(&self.index, settings, form);
        self.link_patients();
        self
    }

    /// Links the Patients of several sources. Leaves out a source with several Patients.
    fn link_patients(&mut self) {
        let Some(patient) = facts().lookup("Patient") else {
            return;
        };
        let mut by_source: BTreeMap<SourceId, Vec<EntryIndex>> = BTreeMap::new();
        for place in self.index.of_type(patient) {
            by_source.entry(self.index.source(place)).or_default().push(place);
        }
        let alone: Vec<(SourceId, EntryIndex)> = by_source
            .iter()
            .filter_map(|(source, places)| match places[..] {
                [place] => Some((*source, place)),
                _ => None,
            })
            .collect();
        for (source, place) in &alone {
            let others = alone.iter().filter(|(other, _)| other != source);
            let others: Vec<EntryIndex> = others.map(|(_, other)| *other).collect();
            if !others.is_empty() {
                self.patients.insert(*place, others);
            }
        }
    }

    pub(super) fn fhir_base(&self, source: SourceId) -> &str {
        self.sources
            .get(source.0 as usize)
            .map_or("", |source| source.fhir_base.as_str())
    }
}
