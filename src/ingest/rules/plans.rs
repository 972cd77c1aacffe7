//! The second reading: plans are applied to what is written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::kept::{KeptRow, Shelf};
use super::units::{place, settings};
use super::{Change, Normalization};
use crate::fhir::{TypeId, facts};
use crate::ingest::block::{Block, Content, Entry, Origin, RowSource};
use crate::ingest::condition::Keys;
use crate::ingest::error::IngestError;
use crate::ingest::links::Links;
use crate::ingest::normalize::{Normalized, Normalizer};
use crate::lake::file::digest;
use crate::lake::json::{Edits, Tape, Value};
use crate::normalize::{Codes, Generated, Plan, Record, Report, Source, Survey};

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
    /// Rows whose texts could not be read.
    pub(super) unreadable: u64,
}

/// Takes over blocks that are to be written, and how many rows they have by type.
pub(in crate::ingest) type Store<'s> =
    dyn FnMut(&[(TypeId, Vec<Block>)], &BTreeMap<TypeId, u64>) -> Result<(), IngestError> + 's;

/// Rows that are taken in at a time.
const ROWS: usize = 2_048;

impl std::fmt::Debug for Plans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plans")
            .field("units", &self.units.len())
            .finish_non_exhaustive()
    }
}

impl Plans {
    pub(super) fn new(rules: Normalization, shelf: Shelf, units: BTreeMap<i64, Unit>) -> Plans {
        let sources = vec![Source {
            authorization: String::new(),
            endpoint: String::new(),
            fhir_base: String::new(),
            tag_system_base: rules.tag_system_base.clone(),
            tags: Vec::new(),
        }];
        let plan = Survey::default().decide(&settings(&rules, &sources, &|_, _, _| String::new()));
        let nobody = Unit {
            sources,
            plan,
            ..Unit::default()
        };
        Plans {
            rules,
            shelf,
            units,
            nobody,
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

    /// How many rows of the lake could not be read.
    pub(in crate::ingest) fn unreadable(&self) -> u64 {
        self.units.values().map(|unit| unit.unreadable).sum()
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

    /// Hands over what belongs to the units beside the input: their rows that are written anew, and generated
    /// resources. Blocks are handed over whenever they have more than `limit` bytes. Gives the generated rows that
    /// nothing supports any longer, by type.
    pub(in crate::ingest) fn extra(
        &self,
        keys: Keys,
        limit: usize,
        store: &mut Store<'_>,
    ) -> Result<BTreeMap<TypeId, Vec<String>>, IngestError> {
        let mut work = Work::new(keys);
        let mut blocks = Blocks::default();
        let mut unsupported: BTreeMap<TypeId, Vec<String>> = BTreeMap::new();
        for (owner, unit) in &self.units {
            for rows in unit.kept.chunks(ROWS) {
                self.rewrite(*owner, unit, rows, &mut blocks, &mut work);
                blocks.store_over(limit, store)?;
            }
            for made in unit.plan.generated.chunks(ROWS) {
                made.iter()
                    .for_each(|made| self.generate(*owner, unit, made, &mut blocks, &mut work));
                blocks.store_over(limit, store)?;
            }
            let made: BTreeSet<(TypeId, &str)> = unit
                .plan
                .generated
                .iter()
                .map(|made| (made.resource_type, made.id.as_str()))
                .collect();
            // Where rows could not be read, nobody knows what supports what.
            let gone = unit.made_before.iter().filter(|_| unit.unreadable == 0);
            for (resource_type, id) in gone {
                if made.contains(&(*resource_type, id.as_str())) {
                    continue;
                }
                self.tell(*resource_type, id, Some("{}"), None);
                unsupported.entry(*resource_type).or_default().push(id.clone());
            }
        }
        self.count(&work.report);
        blocks.store_over(0, store)?;
        Ok(unsupported)
    }

    /// Writes rows anew that the plan changes.
    fn rewrite(&self, owner: i64, unit: &Unit, rows: &[KeptRow], blocks: &mut Blocks, work: &mut Work) {
        self.shelf.texts(rows, |row, text| {
            let authorization = row.authorization.as_deref().unwrap_or_default();
            let record = (row.resource_type, row.id.as_str(), authorization);
            let Some(normalized) = work.edited(unit, record, text, &*self.rules.knowledge.codes) else {
                return;
            };
            let after = Some(work.normalizer.text());
            self.tell(row.resource_type, &row.id, str::from_utf8(text).ok(), after);
            let source = RowSource::of(row.authorization.as_deref(), row.endpoint.as_deref());
            let filed = Filed {
                owner,
                patient: row.patient.as_deref(),
                source,
            };
            blocks.add(row.resource_type, filed, &normalized, &work.normalizer);
        });
    }

    /// Takes in a generated resource.
    fn generate(&self, owner: i64, unit: &Unit, made: &Generated, blocks: &mut Blocks, work: &mut Work) {
        let is_known = unit.made_before.contains(&(made.resource_type, made.id.clone()));
        let is_provenance = facts().get(made.resource_type).name == "Provenance";
        // Its id says what it is about; only the time would be another.
        if is_known && is_provenance {
            return;
        }
        let at = made.source.0 as usize;
        let source = unit.sources.get(at);
        let source = source.and_then(|source| RowSource::of(Some(&source.authorization), Some(&source.endpoint)));
        let Ok(json) = work.tape.parse(made.json.as_bytes()) else {
            return;
        };
        let Ok(normalized) = work.normalizer.normalize(json, None, &Links::default()) else {
            return;
        };
        let filed = Filed {
            owner,
            patient: unit.patients.get(at).and_then(Option::as_deref),
            source,
        };
        blocks.add(made.resource_type, filed, &normalized, &work.normalizer);
        // A Provenance tells of what a rule made.
        if !is_provenance {
            work.report.of(made.rule).made += 1;
        }
        if !is_known {
            self.tell(made.resource_type, &made.id, None, Some(&made.json));
        }
    }
}

/// Whose a row is.
struct Filed<'p> {
    owner: i64,
    patient: Option<&'p str>,
    source: Option<RowSource>,
}

/// Rows that wait to be written, a block for each type and source.
#[derive(Default)]
struct Blocks {
    blocks: BTreeMap<(TypeId, Option<RowSource>), Block>,
    read: BTreeMap<TypeId, u64>,
}

impl Blocks {
    /// Puts the resource that `normalizer` normalized last into the block of its type and source.
    fn add(&mut self, resource_type: TypeId, filed: Filed<'_>, normalized: &Normalized, normalizer: &Normalizer) {
        let Filed { owner, patient, source } = filed;
        *self.read.entry(resource_type).or_default() += 1;
        let is_synced = source.is_some();
        let block = self.blocks.entry((resource_type, source.clone())).or_insert_with(|| {
            let file: Arc<Path> = Path::new("").into();
            Block::new(resource_type, file, 0).with_source(source)
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
            shared_refs: if is_synced { &[] } else { &normalized.shared_refs },
            text: normalizer.text(),
            identifiers: &[],
        });
    }

    /// Hands the blocks over if they have more than `limit` bytes.
    fn store_over(&mut self, limit: usize, store: &mut Store<'_>) -> Result<(), IngestError> {
        if self.blocks.values().map(Block::weight).sum::<usize>() <= limit {
            return Ok(());
        }
        let mut types: BTreeMap<TypeId, Vec<Block>> = BTreeMap::new();
        for ((resource_type, _), block) in std::mem::take(&mut self.blocks) {
            types.entry(resource_type).or_default().push(block);
        }
        let types: Vec<(TypeId, Vec<Block>)> = types.into_iter().collect();
        store(&types, &std::mem::take(&mut self.read))
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
        let record = Record {
            resource_type,
            id,
            source,
            json,
        };
        if !unit.plan.rewrite(&record, codes, edits, edited, report) {
            return None;
        }
        let json = tape.parse(edited).ok()?;
        normalizer.normalize(json, None, &Links::default()).ok()
    }
}
