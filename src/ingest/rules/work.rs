//! The work of one thread: it surveys each unit of a range, applies the unit's plan, and delivers the resulting rows.

use std::collections::BTreeMap;

use super::edited::{BEFORE_INPUT, BEHIND_INPUT, Blocks, Editor, Whose};
use super::gather::{Gathered, Moved};
use super::observer::Change;
use super::placed::{Placed, Records, read_index};
use super::stowed::Stowed;
use super::unit::{Common, Unit, place};
use crate::columns::json::{Tape, Value};
use crate::fhir::{TypeId, facts};
use crate::ingest::error::IngestError;
use crate::ingest::rows::block::{Block, RowSource};
use crate::lake::owners::owner::APPLICATION_ONLY;
use crate::normalize::{Generated, Record, Report, SourceId};

/// Limits of one thread's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The maximum size in bytes of a range that is read into memory. The records of a larger range are read one by
    /// one.
    loaded: u64,
    /// The maximum size in bytes of a unit whose parsed records stay in memory. The records of a larger unit are parsed
    /// twice: for the survey and for the changes.
    parsed: usize,
    /// The finished blocks are delivered when their texts have more bytes than this.
    handed: usize,
}

impl Bounds {
    /// Returns the limits of each of `threads` threads. `buffer` is the number of bytes that may wait to be written.
    pub(super) fn new(buffer: usize, threads: usize) -> Bounds {
        let share = buffer / threads.max(1);
        Bounds {
            loaded: share as u64,
            parsed: share / 4,
            handed: share / 12,
        }
    }
}

/// Receives records to be written.
pub(super) trait Take {
    /// Receives blocks, and the number of their rows that are not from the input, by type.
    fn take(&self, blocks: Vec<Block>, beside: BTreeMap<TypeId, u64>) -> Result<(), IngestError>;

    /// Receives the id of a generated row that no record supports any more.
    fn delete(&self, type_id: TypeId, id: String) -> Result<(), IngestError>;
}

/// The counts of one thread's work.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) report: Report,
    /// The number of the lake's rows that could not be read.
    pub(super) unreadable: u64,
}

impl Done {
    pub(super) fn add(&mut self, other: &Done) {
        self.report.add(&other.report);
        self.unreadable += other.unreadable;
    }
}

/// One thread's work.
pub(super) struct Worker<'w> {
    common: &'w Common,
    gathered: &'w Gathered,
    moved: &'w Moved,
    out: &'w dyn Take,
    bounds: Bounds,
    source: Option<RowSource>,
    /// The plan for records without a person.
    nobody: Unit,
    /// The bytes of the current range, if all of it is in memory.
    loaded: Vec<u8>,
    /// The bytes of the current record, if its range is not in memory.
    fetched: Vec<u8>,
    index: Vec<Placed>,
    tape: Tape,
    roots: Vec<Option<u32>>,
    editor: Editor,
    blocks: Blocks,
    unreadable: u64,
}

impl<'w> Worker<'w> {
    pub(super) fn new(
        common: &'w Common,
        gathered: &'w Gathered,
        moved: &'w Moved,
        out: &'w dyn Take,
        bounds: Bounds,
    ) -> Worker<'w> {
        let synced = common.synced.as_ref();
        Worker {
            common,
            gathered,
            moved,
            out,
            bounds,
            source: synced.map(|synced| RowSource {
                authorization: synced.authorization.clone(),
                endpoint: synced.endpoint.clone(),
            }),
            nobody: common.nobody(),
            loaded: Vec::new(),
            fetched: Vec::new(),
            index: Vec::new(),
            tape: Tape::new(),
            roots: Vec::new(),
            editor: Editor::new(common.keys),
            blocks: Blocks::default(),
            unreadable: 0,
        }
    }

    /// Processes a range. `always` is an owner of this range that is a unit even if the input has no record of it.
    pub(super) fn range(&mut self, range: usize, always: Option<i64>) -> Result<(), IngestError> {
        let bin = self.gathered.take(range);
        let mut index = std::mem::take(&mut self.index);
        read_index(&bin, &mut index)?;
        let mut loaded = std::mem::take(&mut self.loaded);
        let mut fetched = std::mem::take(&mut self.fetched);
        let mut records = if bin.len() <= self.bounds.loaded {
            bin.load(&mut loaded)?;
            drop(bin);
            Records::Loaded(&loaded)
        } else {
            Records::Stored(&bin, &mut fetched)
        };
        for unit in index.chunk_by(|one, other| one.owner == other.owner) {
            if unit[0].owner <= APPLICATION_ONLY {
                self.nobody(&mut records, unit)?;
            } else {
                self.unit(&mut records, unit, unit[0].owner)?;
            }
        }
        if let Some(owner) = always.filter(|owner| index.iter().all(|placed| placed.owner != *owner)) {
            self.unit(&mut records, &[], owner)?;
        }
        (self.index, self.loaded, self.fetched) = (index, loaded, fetched);
        Ok(())
    }

    /// Delivers the remaining blocks, and returns the counts.
    pub(super) fn finish(mut self) -> Result<Done, IngestError> {
        self.hand_over(0)?;
        Ok(Done {
            report: self.editor.report,
            unreadable: self.unreadable,
        })
    }

    /// Applies the plan for records without a person. It normalizes their codes and required elements.
    fn nobody(&mut self, records: &mut Records<'_>, placed: &[Placed]) -> Result<(), IngestError> {
        let nobody = std::mem::take(&mut self.nobody);
        for placed in placed {
            let record = records.get(placed)?;
            if !self.moved.is_replaced(self.common.keys, &record) {
                self.parsed(&nobody, &record);
                self.hand_over(self.bounds.handed)?;
            }
        }
        self.nobody = nobody;
        Ok(())
    }

    /// Surveys a unit, and applies its plan.
    fn unit(&mut self, records: &mut Records<'_>, placed: &[Placed], owner: i64) -> Result<(), IngestError> {
        let patient = match placed.first() {
            Some(placed) => Some(records.get(placed)?.patient.to_owned()),
            None => None,
        };
        let mut surveyed = self.common.open(owner, patient.as_deref())?;
        let bytes: usize = placed.iter().map(|placed| placed.length).sum();
        let is_loaded = matches!(records, Records::Loaded(_)) && bytes <= self.bounds.parsed;
        self.tape.clear();
        self.roots.clear();
        for placed in placed {
            let record = records.get(placed)?;
            if self.moved.is_replaced(self.common.keys, &record) {
                self.roots.push(None);
                continue;
            }
            if !is_loaded {
                self.tape.clear();
            }
            let root = self.tape.append(record.text).ok();
            if let Some(root) = root
                && !self.gathered.is_unfit(&record)
            {
                surveyed.see(&record, self.tape.value(root, record.text));
            }
            if is_loaded {
                self.roots.push(root);
            }
        }
        let unit = surveyed.decide()?;
        let (tape, roots) = (std::mem::take(&mut self.tape), std::mem::take(&mut self.roots));
        for (at, placed) in placed.iter().enumerate() {
            let record = records.get(placed)?;
            if self.moved.is_replaced(self.common.keys, &record) {
                continue;
            }
            match roots.get(at).copied().flatten() {
                Some(root) => self.edit(&unit, &record, tape.value(root, record.text)),
                None => self.parsed(&unit, &record),
            }
            self.hand_over(self.bounds.handed)?;
        }
        (self.tape, self.roots) = (tape, roots);
        self.beside(unit)
    }

    /// Parses a record, and adds it with the plan's changes.
    fn parsed(&mut self, unit: &Unit, record: &Stowed<'_>) {
        let mut tape = std::mem::take(&mut self.tape);
        tape.clear();
        match tape.append(record.text) {
            Ok(root) => self.edit(unit, record, tape.value(root, record.text)),
            // This import has written the text from parsed JSON, so parsing it never fails. If it did, the record would
            // stay unchanged.
            Err(_) => self.add(record),
        }
        self.tape = tape;
    }

    fn edit(&mut self, unit: &Unit, stowed: &Stowed<'_>, json: Value<'_>) {
        let common = self.common;
        let authorization = self.source.as_ref().map_or("", |source| &source.authorization);
        let record = Record {
            resource_type: stowed.resource_type,
            id: stowed.id,
            source: place(&unit.sources, authorization),
            json,
        };
        let codes = &*common.rules.knowledge.codes;
        let edited = self.editor.edit(unit, &record, stowed.splice, codes);
        if let Some(edited) = &edited {
            common.tell(stowed.resource_type, stowed.id, Some(stowed.text), Some(edited.text));
        }
        let gathered = self.gathered;
        self.blocks
            .add(stowed, &self.source, edited, || gathered.file(stowed.file));
    }

    fn add(&mut self, stowed: &Stowed<'_>) {
        let gathered = self.gathered;
        self.blocks
            .add(stowed, &self.source, None, || gathered.file(stowed.file));
    }

    /// Adds the rows of a unit that are not from the input: rewritten rows of the lake, and generated resources.
    /// Deletes generated rows that no record supports any more.
    fn beside(&mut self, mut unit: Unit) -> Result<(), IngestError> {
        self.unreadable += unit.unreadable;
        self.rows(&unit)?;
        for made in std::mem::take(&mut unit.plan.generated) {
            let is_known = unit.made_before.remove(&(made.resource_type, made.id.clone()));
            self.generated(&unit, &made, is_known);
            self.hand_over(self.bounds.handed)?;
        }
        // If some rows could not be read, no generated row is deleted, because the unreadable rows may support it.
        if unit.unreadable == 0 {
            for (type_id, id) in unit.made_before {
                self.common.tell(type_id, &id, Some("{}"), None);
                self.out.delete(type_id, id)?;
            }
        }
        Ok(())
    }

    /// Adds the lake's rows that the plan changes.
    fn rows(&mut self, unit: &Unit) -> Result<(), IngestError> {
        let common = self.common;
        let mut handed = Ok(());
        common.shelf.texts(&unit.kept.rows, |row, read| {
            let mut tape = std::mem::take(&mut self.tape);
            let filed = unit.kept.filed_by(row);
            if let Ok(json) = tape.parse(&read.resource) {
                let record = Record {
                    resource_type: row.resource_type,
                    id: &read.id,
                    source: place(&unit.sources, filed.authorization.as_deref().unwrap_or_default()),
                    json,
                };
                let codes = &*common.rules.knowledge.codes;
                if let Some(edited) = self.editor.edit_row(unit, &record, codes) {
                    common.tell(
                        row.resource_type,
                        &read.id,
                        str::from_utf8(&read.resource).ok(),
                        Some(edited.text),
                    );
                    let whose = Whose {
                        owner: unit.owner,
                        patient: filed.patient.as_deref(),
                        source: RowSource::of(filed.authorization.as_deref(), filed.endpoint.as_deref()),
                    };
                    let shared_refs = edited.shared_refs.as_deref().unwrap_or_default();
                    let content = (edited.text, edited.splice);
                    self.blocks
                        .add_beside(BEFORE_INPUT, row.resource_type, &read.id, whose, content, shared_refs);
                }
            }
            self.tape = tape;
            if handed.is_ok() {
                handed = self.hand_over(self.bounds.handed);
            }
        });
        handed
    }

    /// Adds a generated resource. `is_known` says whether the lake already has a generated row with this id.
    fn generated(&mut self, unit: &Unit, made: &Generated, is_known: bool) {
        let is_provenance = facts().get(made.resource_type).name == "Provenance";
        // The id of a Provenance depends on its content. A Provenance with the same id differs only in its time, so the
        // lake's row stays, and nothing is written.
        if is_known && is_provenance {
            return;
        }
        let SourceId(at) = made.source;
        let source = unit.sources.get(at as usize);
        let source = source.and_then(|source| RowSource::of(Some(&source.authorization), Some(&source.endpoint)));
        let Some((normalized, text)) = self.editor.made(&made.json) else {
            return;
        };
        let whose = Whose {
            owner: unit.owner,
            patient: unit.patients.get(at as usize).and_then(Option::as_deref),
            source,
        };
        let content = (text, normalized.splice);
        self.blocks.add_beside(
            BEHIND_INPUT,
            made.resource_type,
            &normalized.id,
            whose,
            content,
            &normalized.shared_refs,
        );
        // A Provenance is not counted, because it only describes a resource that a rule made.
        if !is_provenance {
            self.editor.report.of(made.rule).made += 1;
        }
        if !is_known {
            self.common.tell(made.resource_type, &made.id, None, Some(&made.json));
        }
    }

    /// Delivers the blocks if their texts have more than `limit` bytes.
    fn hand_over(&mut self, limit: usize) -> Result<(), IngestError> {
        if self.blocks.weight() <= limit {
            return Ok(());
        }
        let beside = std::mem::take(&mut self.blocks.beside);
        self.out.take(self.blocks.take(), beside)
    }
}

impl Common {
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
}
