//! A record after the rules' changes, and blocks of finished records.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::stowed::Stowed;
use super::unit::Unit;
use crate::columns::json::{Edits, Tape, Value, write_compact, write_object};
use crate::fhir::TypeId;
use crate::ingest::input::normalize::{Normalized, Normalizer};
use crate::ingest::references::condition::Keys;
use crate::ingest::references::links::Links;
use crate::ingest::rows::block::{Block, Content, Origin, RowSource, SharedRefs, Splice};
use crate::lake::file::digest;
use crate::normalize::{Codes, Record, Report, Rewrite};

/// The buffers with which one thread writes records. Each record reuses them.
pub(super) struct Editor {
    edits: Edits,
    edited: Vec<u8>,
    tape: Tape,
    normalizer: Normalizer,
    pub(super) report: Report,
}

/// A changed text, with the other values that changed with it.
pub(super) struct Edited<'e> {
    pub(super) text: &'e str,
    pub(super) splice: Splice,
    /// The new shared references. `None` if they are unchanged.
    pub(super) shared_refs: Option<Vec<String>>,
}

impl Editor {
    pub(super) fn new(keys: Keys) -> Editor {
        Editor {
            edits: Edits::new(),
            edited: Vec::new(),
            tape: Tape::new(),
            normalizer: Normalizer::new(keys, None),
            report: Report::default(),
        }
    }

    /// Decides how a record is written: with edits, or from the edited text.
    fn plan(&mut self, unit: &Unit, record: &Record<'_>, codes: &dyn Codes) -> Rewrite {
        let Editor {
            edits, edited, report, ..
        } = self;
        unit.plan.edits(record, codes, edits, edited, report)
    }

    /// Applies a unit's plan to a record of the input. `None` if it is unchanged.
    pub(super) fn edit(
        &mut self,
        unit: &Unit,
        record: &Record<'_>,
        splice: Splice,
        codes: &dyn Codes,
    ) -> Option<Edited<'_>> {
        match self.plan(unit, record, codes) {
            Rewrite::Unchanged => return None,
            Rewrite::Edited => {}
            // Offsets in the record differ from those in the other text.
            Rewrite::Anew => return self.normalized(),
        }
        // A record with changed references is parsed again as a whole.
        if self.edits.may_write(record.json, "\"reference\"") {
            return self.rewritten(record.json);
        }
        self.edited.clear();
        let mut moved = None;
        write_object(record.json, &mut self.edited, &self.edits, |from, to| {
            if splice.in_meta && from.start + 1 == splice.at {
                moved = Some(to.start + 1);
            } else if !splice.in_meta && from.end == splice.at {
                moved = Some(to.end);
            }
        });
        let Some(at) = moved else {
            return self.rewritten(record.json);
        };
        Some(Edited {
            // The text consists of pieces of checked text, so this never fails.
            text: simdutf8::basic::from_utf8(&self.edited).ok()?,
            splice: Splice { at, ..splice },
            shared_refs: None,
        })
    }

    /// Applies a unit's plan to a row of the lake, which has its version and time. `None` if it is unchanged.
    pub(super) fn edit_row(&mut self, unit: &Unit, record: &Record<'_>, codes: &dyn Codes) -> Option<Edited<'_>> {
        match self.plan(unit, record, codes) {
            Rewrite::Unchanged => None,
            Rewrite::Edited => self.rewritten(record.json),
            Rewrite::Anew => self.normalized(),
        }
    }

    /// Converts a new resource to its stored form.
    pub(super) fn made(&mut self, json: &str) -> Option<Made<'_>> {
        let json = self.tape.parse(json.as_bytes()).ok()?;
        let normalized = self.normalizer.normalize(json, None, &Links::default()).ok()?;
        Some((normalized, self.normalizer.text()))
    }

    fn rewritten(&mut self, json: Value<'_>) -> Option<Edited<'_>> {
        self.edited.clear();
        write_compact(json, &mut self.edited, &self.edits);
        self.normalized()
    }

    /// Converts the edited text to its stored form.
    fn normalized(&mut self) -> Option<Edited<'_>> {
        let json = self.tape.parse(&self.edited).ok()?;
        let normalized = self.normalizer.normalize(json, None, &Links::default()).ok()?;
        Some(Edited {
            text: self.normalizer.text(),
            splice: normalized.splice,
            shared_refs: Some(normalized.shared_refs),
        })
    }
}

/// A new resource and its text.
pub(super) type Made<'e> = (Normalized, &'e str);

/// The filing of a row.
#[derive(Clone)]
pub(super) struct Whose<'p> {
    pub(super) owner: i64,
    pub(super) patient: Option<&'p str>,
    pub(super) source: Option<RowSource>,
}

/// Rows that wait to be written: blocks for each type, file and source.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: BTreeMap<(TypeId, u32, Option<RowSource>), Vec<Block>>,
    /// Rows that are not from the input, by type.
    pub(super) beside: BTreeMap<TypeId, u64>,
    weight: usize,
}

/// The ordinal of a rewritten row of the lake: before the input. The input may have a record with the same id that does
/// not fit into a table and must be refused.
pub(super) const BEFORE_INPUT: u64 = 0;
/// The ordinal of a generated row: after the input.
pub(super) const BEHIND_INPUT: u64 = u64::MAX;

/// The file number of rows that are not from the input.
const NO_FILE: u32 = u32::MAX;
/// A block's capacity in bytes of text. A full block is followed by a new one, because a growing block is copied into
/// pages that the system must clear first.
const ROOM: usize = 128 << 10;

impl Blocks {
    /// Bytes of texts.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Removes and returns all blocks.
    pub(super) fn take(&mut self) -> Vec<Block> {
        self.weight = 0;
        let mut blocks: Vec<Block> = std::mem::take(&mut self.blocks).into_values().flatten().collect();
        blocks.iter_mut().for_each(Block::shrink);
        blocks
    }

    /// The block of a type, file and source for a text of this length.
    fn block(
        &mut self,
        (type_id, number, source): (TypeId, u32, &Option<RowSource>),
        length: usize,
        file: impl FnOnce() -> Arc<Path>,
    ) -> &mut Block {
        self.weight += length;
        let blocks = self.blocks.entry((type_id, number, source.clone())).or_default();
        if blocks.last().is_none_or(|block| !block.has_room(length)) {
            blocks.push(Block::new(type_id, file(), ROOM).with_source(source.clone()));
        }
        let last = blocks.len() - 1;
        &mut blocks[last]
    }

    /// Adds a record of the input, unchanged or edited.
    pub(super) fn add(
        &mut self,
        record: &Stowed<'_>,
        source: &Option<RowSource>,
        edited: Option<Edited<'_>>,
        file: impl FnOnce() -> Arc<Path>,
    ) {
        let (text, splice, shared_refs) = match &edited {
            Some(edited) => (edited.text, edited.splice, edited.shared_refs.as_deref()),
            None => (record.text, record.splice, None),
        };
        let shared_refs = match shared_refs {
            // Synced records belong to the person.
            _ if source.is_some() => SharedRefs::NONE,
            Some(list) => SharedRefs::List(list),
            None => SharedRefs::Lines(record.shared_refs),
        };
        let type_id = record.resource_type;
        let block = self.block((type_id, record.file, source), text.len(), file);
        block.push(&Content {
            ordinal: record.ordinal,
            owner: record.owner,
            digest: digest(text.as_bytes()),
            origin: record.origin,
            splice,
            id: record.id,
            source_id: record.id,
            patient: Some(record.patient).filter(|patient| !patient.is_empty()),
            shared_refs,
            text,
            identifiers: &[],
        });
    }

    /// Adds a row that is not from the input.
    pub(super) fn add_beside(
        &mut self,
        ordinal: u64,
        type_id: TypeId,
        id: &str,
        whose: Whose<'_>,
        (text, splice): (&str, Splice),
        shared_refs: &[String],
    ) {
        *self.beside.entry(type_id).or_default() += 1;
        let Whose { owner, patient, source } = whose;
        let is_synced = source.is_some();
        let block = self.block((type_id, NO_FILE, &source), text.len(), || Path::new("").into());
        block.push(&Content {
            ordinal,
            owner,
            digest: digest(text.as_bytes()),
            origin: Origin::default(),
            splice,
            id,
            source_id: id,
            patient,
            shared_refs: if is_synced {
                SharedRefs::NONE
            } else {
                SharedRefs::List(shared_refs)
            },
            text,
            identifiers: &[],
        });
    }
}
