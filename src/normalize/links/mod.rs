//! References, and facts from other sources.
//!
//! Decides which resource of the consent a reference means, and what the copies of one practitioner, organization or
//! location gain from each other. A reference prefers a target in its own source. The source's own text stays: the
//! reference to a contained resource in an extension, a conditional one as an identifier. This room fetches nothing.

mod edit;
mod identifiers;
mod index;
mod knowledge;
mod names;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use self::index::{EntryIndex, Index};
use self::knowledge::{Gain, Knowledge};
use super::form;
use super::marks::Base;
use super::record::{Record, Source, SourceId};
use super::report::Report;
use super::survey::Settings;
use crate::columns::json::Edits;
use crate::fhir::facts;

/// The facts kept of possible targets. For each resource: its type, id and source, the hashes of its id, its address
/// and (for people, organizations and the like) its identifiers, and its name; equal names are stored once. If there
/// are several sources, also names, addresses, telecoms and taxonomy of practitioners, organizations and locations with
/// an NPI.
#[derive(Debug, Default)]
pub struct Facts {
    index: Index,
    knowledge: Knowledge,
    sources: Arc<[Source]>,
    gains: FxHashMap<EntryIndex, Vec<Gain>>,
    /// For the Patients of a consent with several sources, the others.
    patients: FxHashMap<EntryIndex, Vec<EntryIndex>>,
    /// The source that is synced, and how often its references led nowhere before.
    synced: Option<SourceId>,
    dangling: BTreeMap<u64, u32>,
}

impl Facts {
    /// Takes in how often the references of the source that is synced led nowhere before.
    pub(super) fn recall(&mut self, source: SourceId, dangling: BTreeMap<u64, u32>) {
        self.synced = Some(source);
        self.dangling = dangling;
    }

    /// Takes in a record.
    pub(super) fn see(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        let base = settings
            .sources
            .get(record.source.0 as usize)
            .map_or("", |source| source.fhir_base.as_str());
        let place = self.index.add(record, base, settings.codes);
        if settings.sources.len() > 1 {
            self.knowledge.see(record, place);
        }
    }

    /// The facts when all records are seen.
    pub(super) fn decide(mut self, settings: &Settings<'_>, sources: Arc<[Source]>, form: &form::Facts) -> Facts {
        self.sources = sources;
        self.index.decide(form);
        let knowledge = std::mem::take(&mut self.knowledge);
        self.gains = knowledge.decide(&self.index, settings, form);
        self.link_patients();
        self
    }

    /// Links the Patients of several sources, if each source has one.
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

    fn fhir_base(&self, source: SourceId) -> &str {
        self.sources
            .get(source.0 as usize)
            .map_or("", |source| source.fhir_base.as_str())
    }
}

/// Edits the references of a record, and makes what it gains from others.
pub(super) fn edit(record: &Record<'_>, base: &Base<'_>, facts: &Facts, edits: &mut Edits, report: &mut Report) {
    edit::references(record, base, facts, edits, report);
    if facts.patients.is_empty() && facts.gains.is_empty() {
        return;
    }
    let Some(place) = facts.index.find(record.resource_type, record.id) else {
        return;
    };
    if let Some(others) = facts.patients.get(&place) {
        edit::patient_links(record, base, facts, others, edits, report);
    }
    if let Some(gains) = facts.gains.get(&place) {
        knowledge::give(record.json, base, gains, &facts.index, edits, report);
    }
}
