//! Conditions on the resources that a row contains. They are JSON text in the column `contained`. They are shredded in
//! batches and tested with the same criteria as other resources.

use arrow::array::{Array, AsArray, RecordBatch, StringArray};

use super::super::SearchError;
use super::super::parameters::contained::COLUMN;
use super::criterion::Criterion;
use super::filter;
use crate::columns::json::{Tape, Value};
use crate::columns::shred::{ShredError, Shredder, SystemValues};
use crate::fhir::{TypeId, facts};

/// The number of contained resources that are shredded into one batch.
pub(in crate::search) const STEP: usize = 4096;

/// Sets `rows[row]` for each row that may contain a resource of a type: the text of its contained resources has the
/// type's name in quotation marks. The text is not parsed, so rows without such a resource may be set, too.
pub(in crate::search) fn mark_holding(type_id: TypeId, batch: &RecordBatch, rows: &mut [bool]) {
    let needle = format!("\"{}\"", facts().get(type_id).name);
    for (row, marked) in rows.iter_mut().enumerate() {
        let holds = |text: &str| memchr::memmem::find(text.as_bytes(), needle.as_bytes()).is_some();
        *marked = texts(batch, row).is_some_and(|texts| texts.iter().flatten().any(holds));
    }
}

/// Sets `rows[row]` for each row with a reference to a contained resource that meets the criterion of its type.
/// `references` has the referenced ids of each row.
pub(in crate::search) fn mark_led_to(
    references: &[Vec<String>],
    targets: &[(TypeId, Criterion)],
    batch: &RecordBatch,
    rows: &mut [bool],
) -> Result<(), SearchError> {
    let mut tape = Tape::new();
    for (type_id, criterion) in targets {
        let mut shredder = Shredder::new(*type_id);
        let mut places: Vec<usize> = Vec::new();
        let mut flush = |shredder: &mut Shredder, places: &mut Vec<usize>| -> Result<(), SearchError> {
            if !shredder.is_empty() {
                let columns = shredder.finish()?;
                let holds = filter::matches(std::slice::from_ref(criterion), &columns)?;
                let hits = places.drain(..).zip(holds.values());
                hits.for_each(|(row, holds)| rows[row] |= holds);
            }
            Ok(())
        };
        for (row, wanted) in references.iter().enumerate() {
            let Some(texts) = texts(batch, row).filter(|_| !wanted.is_empty()) else {
                continue;
            };
            for text in texts.iter().flatten() {
                let Ok(root) = tape.parse(text.as_bytes()) else {
                    continue;
                };
                let Some(id) = root.get_str("id").filter(|id| wanted.iter().any(|wanted| wanted == id)) else {
                    continue;
                };
                if !is_of(root, *type_id) {
                    continue;
                }
                let mut pushed = push(&mut shredder, &id, text, root);
                if pushed == Pushed::NoRoom {
                    flush(&mut shredder, &mut places)?;
                    pushed = push(&mut shredder, &id, text, root);
                }
                if pushed == Pushed::There {
                    places.push(row);
                }
            }
            if shredder.len() >= STEP {
                flush(&mut shredder, &mut places)?;
            }
        }
        flush(&mut shredder, &mut places)?;
    }
    Ok(())
}

/// The result of shredding a contained resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Pushed {
    There,
    /// The resource does not fit into the current batch. The batch must be finished first.
    NoRoom,
    /// The resource cannot be converted to columns.
    Refused,
}

pub(in crate::search) fn push(shredder: &mut Shredder, id: &str, text: &str, root: Value<'_>) -> Pushed {
    match shredder.push(&SystemValues::outside(id, text), root) {
        Ok(()) => Pushed::There,
        Err(ShredError::Full | ShredError::TooManyColumns { .. }) if !shredder.is_empty() => Pushed::NoRoom,
        Err(_) => Pushed::Refused,
    }
}

/// Returns the JSON texts of the resources that a row contains. Returns `None` if it contains none.
pub(in crate::search) fn texts(batch: &RecordBatch, row: usize) -> Option<StringArray> {
    let list = batch.column_by_name(COLUMN)?.as_list_opt::<i32>()?;
    let texts = list.is_valid(row).then(|| list.value(row))?;
    texts.as_string_opt::<i32>().cloned()
}

pub(in crate::search) fn is_of(root: Value<'_>, type_id: TypeId) -> bool {
    root.get_str("resourceType")
        .is_some_and(|name| name == facts().get(type_id).name)
}
