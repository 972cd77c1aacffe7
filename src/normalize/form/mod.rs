//! The form of a record: systems, codes, displays, required elements.
//!
//! Decides how codes are written and which placeholders replace missing elements. A changed coding keeps the source's
//! own: in a list as the next item, elsewhere in an extension. `links` decides which resource a reference means.

mod additions;
mod check;
mod coding;
pub(super) mod displays;
mod editor;
mod memo;
mod required;
pub mod systems;

pub use check::{Fault, Problem, check};
pub use coding::canonical_code;
pub use systems::canonical_system;

use std::sync::Arc;

use displays::Shown;
use editor::Editor;

use super::codes::Codes;
use super::marks::Base;
use super::plan::Addition;
use super::record::{Record, Source, SourceId};
use super::report::{Report, Rule};
use super::survey::Settings;
use super::walk;
use crate::columns::json::{Edits, Value, write_compact};
use crate::fhir::TypeId;

/// The displays of codes in the consent's records, by system and code.
#[derive(Debug, Default)]
pub struct Facts {
    displays: displays::Known,
    sources: Arc<[Source]>,
}

impl Facts {
    /// Takes in a record.
    pub(super) fn see(&mut self, record: &Record<'_>, settings: &Settings<'_>) {
        self.displays.see(record, settings.codes);
    }

    /// The facts when all records are seen.
    pub(super) fn decide(self, sources: Arc<[Source]>) -> Facts {
        Facts { sources, ..self }
    }

    /// The display that records of the consent give to a code, by [`displays::key`], for a record of a source.
    pub(super) fn display(&self, key: u128, source: SourceId) -> Option<Shown<'_>> {
        self.displays.get(key, source)
    }
}

pub(super) use displays::key as display_key;
pub(super) use editor::unmapped_ndc;

/// Edits a record, and makes the additions of other rules.
pub(super) fn edit(
    record: &Record<'_>,
    base: &Base<'_>,
    facts: &Facts,
    additions: &[Addition],
    codes: &dyn Codes,
    edits: &mut Edits,
    report: &mut Report,
) {
    let mut editor = Editor::new(facts, codes, record.source, base, edits, report);
    walk::resource(record.json, record.resource_type, &mut editor);
    let (lacking, trimmed) = (editor.lacking, editor.trimmed);
    required::fill(record.json, record.resource_type, &lacking, trimmed, edits, report);
    additions::make(record.json, base, additions, edits, report);
}

/// A value of some type in the form that [`edit`] gives it in a record of a source, as compact JSON. It is to be marked
/// as a whole.
pub(super) fn rewrite(value: Value<'_>, ty: TypeId, facts: &Facts, codes: &dyn Codes, source: SourceId) -> String {
    let (mut edits, mut report) = (Edits::new(), Report::default());
    let base = Base::new(value, facts.sources.get(source.0 as usize));
    let editor = Editor::new(facts, codes, source, &base, &mut edits, &mut report);
    walk::value(value, ty, &mut editor.without_marks());
    compact(value, &edits)
}

/// A value as compact JSON, with edits.
pub(super) fn compact(value: Value<'_>, edits: &Edits) -> String {
    let mut out = Vec::with_capacity(value.span().len());
    write_compact(value, &mut out, edits);
    String::from_utf8(out).unwrap_or_default()
}

/// Counts one change.
fn changed(report: &mut Report, rule: Rule) {
    report.of(rule).changed += 1;
}
