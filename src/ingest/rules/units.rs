//! The first reading: every record is shown to its unit's survey.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::Normalization;
use super::kept::{KeptRow, Shelf};
use super::plans::{Plans, Unit};
use super::shared::Shared;
use crate::fhir::facts;
use crate::ingest::block::Block;
use crate::ingest::error::IngestError;
use crate::ingest::synced::{Naming, Synced, tags};
use crate::ingest::unfit::Unfit;
use crate::lake::json::{Tape, Value};
use crate::lake::owner::{APPLICATION_ONLY, OwnerKey, owner_named_by};
use crate::lake::{Lake, Mode, Picture};
use crate::normalize::{Record, Rule, Settings, Source, SourceId, Survey};

use std::sync::Arc;

/// The units of an input, as far as it has been read.
#[derive(Debug)]
pub(in crate::ingest) struct Units {
    rules: Normalization,
    key: OwnerKey,
    shelf: Shelf,
    /// Whose records they are, if this is a sync.
    synced: Option<Synced>,
    units: BTreeMap<i64, Surveyed>,
    /// Records of nobody in an import.
    shared: Shared,
    /// What is not shown, since it is not stored.
    unfit: Unfit,
}

/// A unit that is being surveyed.
#[derive(Debug)]
struct Surveyed {
    /// In order of authorizations.
    sources: Vec<Source>,
    /// Under whom the rows of each source are filed.
    patients: Vec<Option<String>>,
    survey: Survey,
    /// Hashes of type and id of the input's records.
    met: FxHashSet<u64>,
    kept: Vec<KeptRow>,
    /// Records of nobody that its own refer to, as `Type/id`.
    refers_to: BTreeSet<String>,
}

impl Units {
    /// No units yet; of a sync the consent's.
    pub(in crate::ingest) fn new(
        rules: Normalization,
        lake: Lake,
        picture: Arc<Picture>,
        mode: Mode,
        application: &str,
        synced: Option<Synced>,
    ) -> Result<Units, IngestError> {
        let mut units = Units {
            rules,
            key: lake.owner_key(),
            shelf: Shelf {
                lake,
                picture,
                mode,
                application: application.to_owned(),
            },
            synced,
            units: BTreeMap::new(),
            shared: Shared::default(),
            unfit: Unfit::default(),
        };
        if let Some(synced) = &units.synced {
            let naming = Naming::new(units.key, application, mode, synced.clone());
            let source = (synced.authorization.clone(), synced.endpoint.clone());
            let (owner, patient) = (synced.owner, naming.patient().to_owned());
            units.open(owner, Some((source, patient)))?;
        }
        Ok(units)
    }

    /// Shows nothing of what fits into no table.
    pub(in crate::ingest) fn without(&mut self, unfit: Unfit) {
        self.unfit = unfit;
    }

    /// Whether the lake has rows of any unit.
    pub(in crate::ingest) fn have_rows(&self) -> bool {
        self.units.values().any(|unit| !unit.kept.is_empty())
    }

    /// Begins a unit with what the lake has of it, and perhaps a source that brings more.
    pub(in crate::ingest) fn open(
        &mut self,
        owner: i64,
        more: Option<((String, String), String)>,
    ) -> Result<(), IngestError> {
        let kept = self.shelf.rows(owner)?;
        let mut known: BTreeMap<(String, String), Option<String>> = BTreeMap::new();
        for row in &kept {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let source = known
                .entry((text(&row.authorization), text(&row.endpoint)))
                .or_default();
            if source.is_none() {
                source.clone_from(&row.patient);
            }
        }
        if let Some((source, patient)) = more {
            known.insert(source, Some(patient));
        }
        let (known, patients): (Vec<(String, String)>, Vec<Option<String>>) = known.into_iter().unzip();
        let sources = known
            .into_iter()
            .map(|(authorization, endpoint)| self.source(authorization, endpoint));
        let unit = Surveyed {
            sources: sources.collect(),
            patients,
            survey: Survey::default(),
            met: FxHashSet::default(),
            kept,
            refers_to: BTreeSet::new(),
        };
        self.units.insert(owner, unit);
        Ok(())
    }

    fn source(&self, authorization: String, endpoint: String) -> Source {
        let Shelf { application, mode, .. } = &self.shelf;
        let tags = match authorization.is_empty() {
            false => tags(
                &self.rules.tag_system_base,
                &authorization,
                &endpoint,
                application,
                *mode,
            ),
            true => Vec::new(),
        };
        let fhir_base = match &self.synced {
            // References under the base of another source were resolved when it was synced.
            Some(synced) if synced.authorization == authorization => {
                format!("{}/", synced.fhir_base.trim_end_matches('/'))
            }
            _ => String::new(),
        };
        Source {
            authorization,
            endpoint,
            fhir_base,
            tag_system_base: self.rules.tag_system_base.clone(),
            tags,
        }
    }

    /// Shows the records of a block to their surveys. Records of nobody are kept for those that refer to them.
    pub(in crate::ingest) fn note(&mut self, block: &Block) -> Result<(), IngestError> {
        let mut tape = Tape::new();
        for entry in &block.entries {
            if self.unfit.holds(&block.file, entry.origin) {
                continue;
            }
            if entry.owner <= APPLICATION_ONLY {
                self.shared.note(block, entry);
                continue;
            }
            if !self.units.contains_key(&entry.owner) {
                let patient = block.patient(entry).unwrap_or_default().to_owned();
                self.open(entry.owner, Some((Default::default(), patient)))?;
            }
            let Some(unit) = self.units.get_mut(&entry.owner) else {
                continue;
            };
            let Ok(json) = tape.parse(block.text(entry).as_bytes()) else {
                continue;
            };
            for name in block.shared_refs(entry).filter(|name| Shared::is_asked(name)) {
                if !unit.refers_to.contains(name) {
                    unit.refers_to.insert(name.to_owned());
                }
            }
            unit.met
                .insert(self.key.hash("", facts().get(block.ty).name, block.id(entry)));
            let authorization = self.synced.as_ref().map_or("", |synced| &synced.authorization);
            let source = place(&unit.sources, authorization);
            let record = Record {
                resource_type: block.ty,
                id: block.id(entry),
                source,
                json,
            };
            let ids = ids(self.key, entry.owner);
            unit.survey.see(&record, &settings(&self.rules, &unit.sources, &ids));
        }
        Ok(())
    }

    /// Shows the rest of each unit to its survey, and decides.
    pub(in crate::ingest) fn decide(self) -> Result<Plans, IngestError> {
        let Units {
            rules,
            key,
            shelf,
            units,
            shared,
            synced,
            unfit: _,
        } = self;
        let mut decided = BTreeMap::new();
        for (owner, unit) in units {
            let Surveyed {
                sources,
                patients,
                mut survey,
                met,
                mut kept,
                refers_to,
            } = unit;
            let ids = ids(key, owner);
            let settings = settings(&rules, &sources, &ids);
            let name = |row: &KeptRow| key.hash("", facts().get(row.resource_type).name, &row.id);
            kept.retain(|row| !met.contains(&name(row)));
            let mut tape = Tape::new();
            let mut generated: FxHashSet<u64> = FxHashSet::default();
            let unreadable = shelf.texts(&kept, |row, text| {
                let Ok(json) = tape.parse(text) else { return };
                if is_generated(row, owner, json, &rules.tag_system_base) {
                    generated.insert(name(row));
                    return;
                }
                let record = Record {
                    resource_type: row.resource_type,
                    id: &row.id,
                    source: place(&sources, row.authorization.as_deref().unwrap_or_default()),
                    json,
                };
                survey.see(&record, &settings);
            });
            for record in shared.reached(refers_to) {
                let Ok(json) = tape.parse(record.text.as_bytes()) else {
                    continue;
                };
                let record = Record {
                    resource_type: record.resource_type,
                    id: &record.id,
                    source: SourceId(0),
                    json,
                };
                survey.see(&record, &settings);
            }
            if let Some(synced) = &synced {
                survey.recall(place(&sources, &synced.authorization), rules.dangling.clone());
            }
            let plan = survey.decide(&settings);
            let (made_before, kept): (Vec<KeptRow>, Vec<KeptRow>) =
                kept.into_iter().partition(|row| generated.contains(&name(row)));
            let made_before = made_before.into_iter().map(|row| (row.resource_type, row.id)).collect();
            decided.insert(
                owner,
                Unit {
                    sources,
                    patients,
                    plan,
                    kept,
                    made_before,
                    unreadable,
                },
            );
        }
        Ok(Plans::new(rules, shelf, decided))
    }
}

/// The place of an authorization among sources.
pub(super) fn place(sources: &[Source], authorization: &str) -> SourceId {
    let at = sources.iter().position(|source| source.authorization == authorization);
    SourceId(at.unwrap_or_default() as u32)
}

/// What decides beside the records of a unit.
pub(super) fn settings<'s>(rules: &'s Normalization, sources: &'s [Source], ids: &'s Ids) -> Settings<'s> {
    Settings {
        sources,
        codes: &*rules.knowledge.codes,
        plans: &*rules.knowledge.plans,
        today: rules.today,
        ids,
    }
}

type Ids = dyn Fn(&Source, &str, &str) -> String;

/// Ids of generated resources: of the owner, the authorization, the type and the seed.
fn ids(key: OwnerKey, owner: i64) -> impl Fn(&Source, &str, &str) -> String {
    move |source, resource_type, seed| key.synced_id(owner, &source.authorization, resource_type, seed)
}

/// Whether a rule made a row of the lake. What a sync itself makes, as a Patient, is tagged by other names. The base
/// address may have been another one when it was made. A source's record always says its address there, and what an
/// import brings in has an id of its own, so neither passes for one that was made here.
fn is_generated(row: &KeptRow, owner: i64, json: Value<'_>, tag_system_base: &str) -> bool {
    let meta = json.get("meta");
    let is_own = match row.authorization {
        Some(_) => meta.is_some_and(|meta| meta.get("source").is_none()),
        None => owner_named_by(&row.id) == Some(owner),
    };
    let is_ours = |tag: Value<'_>| {
        let (system, code) = (tag.get_str("system"), tag.get_str("code"));
        let is_rule = code.is_some_and(|code| Rule::GENERATING.iter().any(|rule| rule.name() == code));
        is_rule
            && system.is_some_and(|system| match row.authorization {
                Some(_) => system.ends_with("/tags/GeneratedBy"),
                None => system.strip_prefix(tag_system_base) == Some("/GeneratedBy"),
            })
    };
    is_own
        && meta
            .and_then(|meta| meta.get("tag"))
            .is_some_and(|tags| tags.items().any(is_ours))
}
