//! Applies the rules of this module to a record, or to a value of a record.

use super::editor::Editor;
use super::facts::Facts;
use super::{additions, required};
use crate::columns::json::{Edits, Value};
use crate::fhir::TypeId;
use crate::normalize::additions::Addition;
use crate::normalize::codes::Codes;
use crate::normalize::compact::compact;
use crate::normalize::marks::Base;
use crate::normalize::record::{Record, SourceId};
use crate::normalize::report::Report;
use crate::normalize::walk;

/// Edits the codings of a record, and adds placeholders and the additions of other rules.
pub(in crate::normalize) fn edit(
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

/// Edits a value of type `type_id` as [`edit`] would edit it in a record of `source`, and returns it as compact JSON.
/// Its displays have no marking extensions, because the caller marks the whole value.
pub(in crate::normalize) fn rewrite(
    value: Value<'_>,
    type_id: TypeId,
    facts: &Facts,
    codes: &dyn Codes,
    source: SourceId,
) -> String {
    let (mut edits, mut report) = (Edits::new(), Report::default());
    let base = Base::new(value, facts.sources.get(source.0 as usize));
    let editor = Editor::new(facts, codes, source, &base, &mut edits, &mut report);
    walk::value(value, type_id, &mut editor.without_marks());
    compact(value, &edits)
}
