//! Applies the rules' changes to records, and collects finished records in blocks.

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

/// The buffers with which one thread writes records. They are reused for each record.
pub(super) struct Editor {
    edits: Edits,
    edited: Vec<u8>,
    tape: Tape,
    normalizer: Normalizer,
    pub(super) report: Report,
}

/// The new text of a changed record, and the values that depend on it.
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

    /// Computes the changes of a record: as edits in `edits`, or as the whole new text in `edited`.
    fn plan(&mut self, unit: &Unit, record: &Record<'_>, codes: &dyn Codes) -> Rewrite {
        let Editor {
            edits, edited, report, ..
        } = self;
        unit.plan.edits(record, codes, edits, edited, report)
    }

    /// Applies a unit's plan to a record of the input. Returns `None` if nothing changes, or if the new text is
    /// invalid.
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
            // The offset in `splice` does not apply to the new text, so it is computed again.
            Rewrite::Anew => return self.normalized(),
        }
        // If an edit may change a reference, the shared references may change as well. So the new text is normalized
        // again, which finds its shared references.
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
            // The text consists of valid UTF-8 parts, so this never fails.
            text: simdutf8::basic::from_utf8(&self.edited).ok()?,
            splice: Splice { at, ..splice },
            shared_refs: None,
        })
    }

    /// Applies a unit's plan to a row of the lake, whose text has `versionId` and `lastUpdated`. Returns `None` if
    /// nothing changes, or if the new text is invalid.
    pub(super) fn edit_row(&mut self, unit: &Unit, record: &Record<'_>, codes: &dyn Codes) -> Option<Edited<'_>> {
        match self.plan(unit, record, codes) {
            Rewrite::Unchanged => None,
            Rewrite::Edited => self.rewritten(record.json),
            Rewrite::Anew => self.normalized(),
        }
    }

    /// Converts a generated resource to its stored form. Returns `None` if it is invalid.
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

/// A generated resource and its text.
pub(super) type Made<'e> = (Normalized, &'e str);

/// The owner, the patient and the source of a row.
#[derive(Clone)]
pub(super) struct Whose<'p> {
    pub(super) owner: i64,
    pub(super) patient: Option<&'p str>,
    pub(super) source: Option<RowSource>,
}

/// Rows to be written, in blocks for each type, input file and source.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: BTreeMap<(TypeId, u32, Option<RowSource>), Vec<Block>>,
    /// The number of rows that are not from the input, by type.
    pub(super) beside: BTreeMap<TypeId, u64>,
    weight: usize,
}

/// The ordinal of a rewritten row of the lake. It is lower than the ordinals of the input's records, so a record of the
/// input with the same id is the later version. The lake's row is rewritten beside such a record only if the record is
/// known to fit into no table. The import still tries to write the record and then reports it as refused.
pub(super) const BEFORE_INPUT: u64 = 0;
/// The ordinal of a generated row: after all records of the input.
pub(super) const BEHIND_INPUT: u64 = u64::MAX;

/// The file number of rows that are not from the input.
const NO_FILE: u32 = u32::MAX;
/// A block's capacity in bytes of text. When a block is full, a new block begins. Blocks do not grow, because growing
/// would copy a block into pages that the system must clear first.
const ROOM: usize = 128 << 10;

impl Blocks {
    /// Returns the number of bytes of all texts.
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

    /// Returns the block of a type, input file and source that takes a text of `length` bytes.
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
            // All rows of a sync have the consent's owner, so they refer to no shared row.
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

    /// Adds a row that is not from the input: a rewritten row of the lake, or a generated resource.
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
