//! The result of a survey: resources to generate, and edits of each record.

use std::sync::Arc;

use super::additions::{Additions, Generated};
use super::codes::Codes;
use super::compact::compact;
use super::marks::{self, Base};
use super::record::{Record, Source};
use super::report::Report;
use super::{form, links};
use crate::columns::json::{Edits, Tape, write_compact};

/// How the new text of a record is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// The record is unchanged.
    Unchanged,
    /// The edits apply to the record's own text.
    Edited,
    /// The text is new, because contributed values were removed from the record's own text first.
    Anew,
}

/// The edits and new resources for the records of a consent.
#[derive(Debug, Default)]
pub struct Plan {
    /// Resources to store with the records, sorted by type and id.
    pub generated: Vec<Generated>,
    /// The items that rules add to lists in records.
    pub additions: Additions,
    pub(super) form: form::Facts,
    pub(super) links: links::Facts,
    pub(super) sources: Arc<[Source]>,
}

impl Plan {
    /// Writes the record's new text to `out`. Returns `false` if the record is unchanged.
    pub fn rewrite(
        &self,
        record: &Record<'_>,
        codes: &dyn Codes,
        edits: &mut Edits,
        out: &mut Vec<u8>,
        report: &mut Report,
    ) -> bool {
        match self.edits(record, codes, edits, out, report) {
            Rewrite::Unchanged => false,
            Rewrite::Edited => {
                write_compact(record.json, out, edits);
                true
            }
            Rewrite::Anew => true,
        }
    }

    /// Decides how a record is written. For [`Rewrite::Edited`], `edits` has the edits. For [`Rewrite::Anew`], `out`
    /// has the new text. In all other cases both are empty.
    pub fn edits(
        &self,
        record: &Record<'_>,
        codes: &dyn Codes,
        edits: &mut Edits,
        out: &mut Vec<u8>,
        report: &mut Report,
    ) -> Rewrite {
        edits.clear();
        out.clear();
        let base = Base::of(record, &self.sources);
        let Some(bare) = marks::bare(record.json, &base) else {
            self.edit(record, &base, codes, edits, report);
            return if edits.is_empty() {
                Rewrite::Unchanged
            } else {
                Rewrite::Edited
            };
        };
        let (mut tape, mut anew) = (Tape::new(), Report::default());
        let Ok(json) = tape.parse(bare.as_bytes()) else {
            return Rewrite::Unchanged;
        };
        self.edit(&Record { json, ..*record }, &base, codes, edits, &mut anew);
        write_compact(json, out, edits);
        // Clear the edits, because they belong to `bare`. The comparison below and the caller use the record's text.
        edits.clear();
        let is_changed = *out != compact(record.json, edits).into_bytes();
        if !is_changed {
            anew.rules.values_mut().for_each(|counts| counts.changed = 0);
            out.clear();
        }
        report.add(&anew);
        if is_changed { Rewrite::Anew } else { Rewrite::Unchanged }
    }

    /// Computes the edits of a record that has no contributed values.
    fn edit(&self, record: &Record<'_>, base: &Base<'_>, codes: &dyn Codes, edits: &mut Edits, report: &mut Report) {
        // Most plans have no additions. Then skip the lookup, because its key costs an allocation.
        let additions = if self.additions.is_empty() {
            None
        } else {
            self.additions.get(&(record.resource_type, record.id.to_owned()))
        };
        let additions = additions.map_or(&[][..], Vec::as_slice);
        form::edit(record, base, &self.form, additions, codes, edits, report);
        links::edit(record, base, &self.links, edits, report);
    }
}
