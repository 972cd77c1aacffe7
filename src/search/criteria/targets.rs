//! The targets of references: the relative references and the canonicals that a parameter yields over a batch of rows.

use arrow::array::RecordBatch;

use super::super::SearchError;
use super::super::parameters::parameter::Compiled;
use super::matcher::items::only_text;
use crate::fhir::reference::{Canonical, Target};
use crate::fhir::storage::{REFERENCE_ID, REFERENCE_TYPE};
use crate::fhirpath::{Collection, Typed};

/// Calls `found` with the type and the id of each target. Visits all values of one type, such as Reference, row by row,
/// then all values of the next type, such as canonical.
pub(in crate::search) fn each(
    compiled: &Compiled,
    batch: &RecordBatch,
    mut found: impl FnMut(&str, &str),
) -> Result<(), SearchError> {
    each_by_row(compiled, batch, |_, resource_type, id| found(resource_type, id))
}

/// Calls `found` with the row of each reference, and with the type and the id of its target. The order is that of
/// [`each`].
pub(in crate::search) fn each_by_row(
    compiled: &Compiled,
    batch: &RecordBatch,
    mut found: impl FnMut(usize, &str, &str),
) -> Result<(), SearchError> {
    let values = values(compiled, batch)?;
    for part in values.typed() {
        if !is_of_references(&part) {
            for_each(&part, |row, item| {
                if let Some(target) = part.items.text(item).and_then(relative) {
                    found(row, target.type_name(), target.id);
                }
            });
            continue;
        }
        let (types, ids) = (part.items.child(REFERENCE_TYPE), part.items.child(REFERENCE_ID));
        for_each(&part, |row, item| {
            if let (Some(resource_type), Some(id)) = (only_text(&types, item), only_text(&ids, item)) {
                found(row, resource_type, id);
            }
        });
    }
    Ok(())
}

/// Calls `found` with the text of each canonical.
pub(in crate::search) fn each_canonical(
    compiled: &Compiled,
    batch: &RecordBatch,
    mut found: impl FnMut(&str),
) -> Result<(), SearchError> {
    let values = values(compiled, batch)?;
    for part in values.typed().into_iter().filter(|part| !is_of_references(part)) {
        for_each(&part, |_, item| {
            if let Some(text) = part.items.text(item) {
                found(text);
            }
        });
    }
    Ok(())
}

/// Whether the values are of type Reference. If not, they are canonicals or URIs.
pub(in crate::search) fn is_of_references(part: &Typed) -> bool {
    part.items.item_type().name() == "Reference"
}

/// Returns the target of a canonical that is a relative URL, such as `Questionnaire/1`. R4's own examples have such
/// canonicals.
pub(in crate::search) fn relative(canonical: &str) -> Option<Target<'_>> {
    let canonical = Canonical::parse(canonical);
    Target::parse(canonical.url).filter(|_| canonical.fragment.is_none())
}

fn values(compiled: &Compiled, batch: &RecordBatch) -> Result<Collection, SearchError> {
    let evaluation = compiled.program.evaluate(batch);
    Ok(evaluation.map_err(|source| compiled.failed(source))?.lenient())
}

fn for_each(part: &Typed, mut found: impl FnMut(usize, usize)) {
    for row in 0..part.offsets.rows() {
        part.offsets.range(row).for_each(|item| found(row, item));
    }
}
