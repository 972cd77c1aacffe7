//! The second reading: plans are applied to what is written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::kept::{KeptRow, Shelf};
use super::units::place;
use super::{Change, Normalization};
use crate::fhir::{TypeId, facts};
use crate::ingest::block::{Block, Content, Entry, Origin, RowSource};
use crate::ingest::condition::Keys;
use crate::ingest::error::IngestError;
use crate::ingest::links::Links;
use crate::ingest::normalize::{Normalized, Normalizer};
use crate::lake::file::digest;
use crate::lake::json::{Edits, Tape, Value, write_compact};
use crate::normalize::{Codes, Plan, Record, Report, Source};

/// What is to be done with every unit.
pub(in crate::ingest) struct Plans {
    rules: Normalization,
    shelf: Shelf,
    units: BTreeMap<i64, Unit>,
    /// For records of nobody.
    nobody: Unit,
    report: Mutex<Report>,
}

/// What is to be done with one.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) sources: Vec<Source>,
    /// Under whom the rows of each source are filed.
    pub(super) patients: Vec<Option<String>>,
    pub(super) plan: Plan,
    /// Rows of sources that the input does not replace.
    pub(super) kept: Vec<KeptRow>,
    /// Generated rows of earlier runs. Those that are not generated again are no longer supported.
    pub(super) made_before: BTreeSet<(TypeId, String)>,
}

/// What is stored beside the input, and what goes.
pub(in crate::ingest) struct Extra {
    pub(in crate::ingest) blocks: Vec<(TypeId, Vec<Block>)>,
    pub(in crate::ingest) unsupported: BTreeMap<TypeId, Vec<String>>,
}

impl std::fmt::Debug for Plans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plans")
            .field("units", &self.units.len())
            .finish_non_exhaustive()
    }
}

impl Plans {
    pub(super) fn new(rules: Normalization, shelf: Shelf, units: BTreeMap<i64, Unit>) -> Plans {
        Plans {
            rules,
            shelf,
            units,
            nobody: Unit::default(),
            report: Mutex::default(),
        }
    }

    /// What was done so far.
    pub(in crate::ingest) fn report(&self) -> Report {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies the plans to records of the input, on all cores.
    pub(in crate::ingest) fn apply(&self, types: &mut [(TypeId, Vec<Block>)], keys: Keys, threads: usize) {
        let blocks: Vec<Mutex<&mut Block>> = types
            .iter_mut()
            .flat_map(|(_, blocks)| blocks.iter_mut().map(Mutex::new))
            .collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut work = Work::new(keys);
            while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut block = block.lock().unwrap_or_else(PoisonError::into_inner);
                self.apply_to(&mut block, &mut work);
            }
            self.count(&work.report);
        };
        std::thread::scope(|scope| {
            for _ in 0..threads.min(blocks.len()) {
                scope.spawn(work);
            }
        });
    }

    fn tell(&self, resource_type: TypeId, id: &str, before: Option<&str>, after: Option<&str>) {
        if let Some(observer) = &self.rules.observer {
            observer.hear(&Change {
                resource_type,
                id,
                before,
                after,
            });
        }
    }

    fn count(&self, report: &Report) {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).add(report);
    }

    fn apply_to(&self, block: &mut Block, work: &mut Work) {
        for at in 0..block.entries.len() {
            let entry: Entry = block.entries[at].clone();
            // Records of nobody are in no unit: of them, too, codes and elements are brought into form.
            let unit = self.units.get(&entry.owner).unwrap_or(&self.nobody);
            let authorization = block.source().map_or("", |source| source.authorization.as_str());
            let record = (block.ty, block.id(&entry), authorization);
            let Some(normalized) = work.edited(
                unit,
                record,
                block.text(&entry).as_bytes(),
                &*self.rules.knowledge.codes,
            ) else {
                continue;
            };
            let text = work.normalizer.text();
            self.tell(block.ty, &normalized.id, Some(block.text(&entry)), Some(text));
            // What a sync brings is the person's own.
            let shared_refs = if block.source().is_some() {
                &[][..]
            } else {
                &normalized.shared_refs
            };
            block.rewrite(at, text, digest(text.as_bytes()), normalized.splice, shared_refs);
        }
    }

    /// What belongs to the units beside the input: their rows that are written anew, generated resources, and what goes.
    pub(in crate::ingest) fn extra(&self, keys: Keys) -> Result<Extra, IngestError> {
        let mut work = Work::new(keys);
        let mut blocks: BTreeMap<(TypeId, Option<RowSource>), Block> = BTreeMap::new();
        let mut unsupported: BTreeMap<TypeId, Vec<String>> = BTreeMap::new();
        for (owner, unit) in &self.units {
            self.shelf.texts(&unit.kept, |row, text| {
                let authorization = row.authorization.as_deref().unwrap_or_default();
                let record = (row.resource_type, row.id.as_str(), authorization);
                let Some(normalized) = work.edited(unit, record, text, &*self.rules.knowledge.codes) else {
                    return;
                };
                let after = Some(work.normalizer.text());
                self.tell(row.resource_type, &row.id, str::from_utf8(text).ok(), after);
                let source = RowSource::of(row.authorization.as_deref(), row.endpoint.as_deref());
                let patient = row.patient.as_deref();
                add(
                    &mut blocks,
                    row.resource_type,
                    source,
                    *owner,
                    patient,
                    &normalized,
                    &work.normalizer,
                );
            })?;
            let mut tape = Tape::new();
            for made in &unit.plan.generated {
                let is_known = unit.made_before.contains(&(made.resource_type, made.id.clone()));
                // Its id says what it is about; only the time would be another.
                if is_known && facts().get(made.resource_type).name == "Provenance" {
                    continue;
                }
                let at = made.source.0 as usize;
                let patient = unit.patients.get(at).and_then(Option::as_deref);
                let source = unit.sources.get(at);
                let source =
                    source.and_then(|source| RowSource::of(Some(&source.authorization), Some(&source.endpoint)));
                let Ok(json) = tape.parse(made.json.as_bytes()) else {
                    continue;
                };
                let Ok(normalized) = work.normalizer.normalize(json, None, &Links::default()) else {
                    continue;
                };
                add(
                    &mut blocks,
                    made.resource_type,
                    source,
                    *owner,
                    patient,
                    &normalized,
                    &work.normalizer,
                );
                // A Provenance tells of what a rule made.
                if facts().get(made.resource_type).name != "Provenance" {
                    work.report.of(made.rule).made += 1;
                }
                if !is_known {
                    self.tell(made.resource_type, &made.id, None, Some(&made.json));
                }
            }
            let made: BTreeSet<(TypeId, &str)> = unit
                .plan
                .generated
                .iter()
                .map(|made| (made.resource_type, made.id.as_str()))
                .collect();
            for (resource_type, id) in &unit.made_before {
                if made.contains(&(*resource_type, id.as_str())) {
                    continue;
                }
                self.tell(*resource_type, id, Some("{}"), None);
                unsupported.entry(*resource_type).or_default().push(id.clone());
            }
        }
        self.count(&work.report);
        let mut types: BTreeMap<TypeId, Vec<Block>> = BTreeMap::new();
        for ((resource_type, _), block) in blocks {
            types.entry(resource_type).or_default().push(block);
        }
        Ok(Extra {
            blocks: types.into_iter().collect(),
            unsupported,
        })
    }
}

/// What one thread needs.
struct Work {
    tape: Tape,
    edits: Edits,
    edited: Vec<u8>,
    normalizer: Normalizer,
    report: Report,
}

impl Work {
    fn new(keys: Keys) -> Work {
        Work {
            tape: Tape::new(),
            edits: Edits::new(),
            edited: Vec::new(),
            normalizer: Normalizer::new(keys, None),
            report: Report::default(),
        }
    }

    /// Applies a unit's plan to a record; `None` if it stays as it is. The text is the normalizer's.
    fn edited(
        &mut self,
        unit: &Unit,
        (resource_type, id, authorization): (TypeId, &str, &str),
        text: &[u8],
        codes: &dyn Codes,
    ) -> Option<Normalized> {
        let Work {
            tape,
            edits,
            edited,
            normalizer,
            report,
        } = self;
        let json: Value<'_> = tape.parse(text).ok()?;
        let source = place(&unit.sources, authorization);
        edits.clear();
        let record = Record {
            resource_type,
            id,
            source,
            json,
        };
        unit.plan.apply(&record, codes, edits, report);
        if edits.is_empty() {
            return None;
        }
        edited.clear();
        write_compact(json, edited, edits);
        let json = tape.parse(edited).ok()?;
        normalizer.normalize(json, None, &Links::default()).ok()
    }
}

/// Puts the resource that `normalizer` normalized last into the block of its type and source.
fn add(
    blocks: &mut BTreeMap<(TypeId, Option<RowSource>), Block>,
    resource_type: TypeId,
    source: Option<RowSource>,
    owner: i64,
    patient: Option<&str>,
    normalized: &Normalized,
    normalizer: &Normalizer,
) {
    let block = blocks.entry((resource_type, source.clone())).or_insert_with(|| {
        let file: Arc<Path> = Path::new("").into();
        Block::new(resource_type, file, 0).with_source(source.clone())
    });
    block.push(&Content {
        ordinal: u64::MAX,
        owner,
        digest: digest(normalizer.text().as_bytes()),
        origin: Origin::default(),
        splice: normalized.splice,
        id: &normalized.id,
        source_id: &normalized.id,
        patient,
        shared_refs: if source.is_some() { &[] } else { &normalized.shared_refs },
        text: normalizer.text(),
        identifiers: &[],
    });
}
