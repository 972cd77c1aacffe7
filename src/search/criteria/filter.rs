//! Decides which rows of a batch match a query's criteria.
//!
//! In a search over many people, the scan calls these functions. A search over one person calls them with that person's
//! columns. So a criterion means the same in both searches.

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;

use super::super::SearchError;
use super::super::parameters::parameter::Compiled;
use super::criterion::{Condition, Criterion, Test, TupleTest, Within};
use super::inside;
use super::matcher::{Matcher, only_text};
use super::targets::is_of_references;
use super::words::{Words, split_into};
use crate::columns::json::{Tape, Value};
use crate::fhir::storage::LeafSet;
use crate::fhirpath::{Collection, Focus, Offsets, Typed};
use crate::lake::scan::Predicate;

/// Returns the leaves that the criteria read.
pub(in crate::search) fn leaves(criteria: &[Criterion]) -> LeafSet {
    let mut leaves = LeafSet::new();
    criteria.iter().for_each(|criterion| criterion.add_leaves(&mut leaves));
    leaves
}

/// Returns the work of testing this many rows.
pub(in crate::search) fn cost(criteria: &[Criterion], rows: usize) -> u64 {
    let of_row = criteria
        .iter()
        .fold(0u64, |sum, criterion| sum.saturating_add(criterion.cost()));
    of_row.saturating_mul(rows as u64)
}

/// Returns the work of testing these rows: that of [`cost`], and that of the texts in which criteria look for words.
pub(in crate::search) fn cost_of(criteria: &[Criterion], batch: &RecordBatch) -> u64 {
    let of_texts = criteria.iter().map(|criterion| cost_of_texts(criterion, batch));
    cost(criteria, batch.num_rows()).saturating_add(of_texts.sum())
}

/// Returns the work of reading the texts in which a criterion looks for words.
fn cost_of_texts(criterion: &Criterion, batch: &RecordBatch) -> u64 {
    /// How many bytes of a text are parsed and split with the work of one unit.
    const BYTES_OF_A_UNIT: u64 = 8;
    let all = |parts: &[Criterion]| parts.iter().map(|part| cost_of_texts(part, batch)).sum();
    match &criterion.condition {
        Condition::Words { within, .. } => {
            let of_row = |row| match within {
                Within::Narrative => narrative(batch, row),
                Within::Resource => text(batch.column_by_name("resource").map(AsRef::as_ref), row),
            };
            let bytes = (0..batch.num_rows()).filter_map(of_row).map(str::len).sum::<usize>();
            bytes as u64 / BYTES_OF_A_UNIT
        }
        Condition::All(parts) | Condition::Any(parts) => all(parts),
        Condition::Not(part) => cost_of_texts(part, batch),
        _ => 0,
    }
}

/// Decides for each row whether all criteria hold.
pub(in crate::search) fn matches(criteria: &[Criterion], batch: &RecordBatch) -> Result<BooleanArray, SearchError> {
    all(criteria, batch, true)
}

/// Decides for each row whether all criteria hold. Unlike `matches`, it runs the program of every parameter, even if
/// the parameter's values are in plain columns.
pub(in crate::search) fn matches_by_programs(
    criteria: &[Criterion],
    batch: &RecordBatch,
) -> Result<BooleanArray, SearchError> {
    all(criteria, batch, false)
}

/// Decides for each row whether all criteria hold. With `plain`, values in plain columns are compared directly, without
/// the parameter's program.
fn all(criteria: &[Criterion], batch: &RecordBatch, plain: bool) -> Result<BooleanArray, SearchError> {
    let mut all = vec![true; batch.num_rows()];
    for criterion in criteria {
        let mut rows = vec![false; batch.num_rows()];
        mark(criterion, batch, plain, &mut rows)?;
        for (all, row) in all.iter_mut().zip(rows) {
            *all &= row;
        }
        if !all.contains(&true) {
            break;
        }
    }
    let all = BooleanBuffer::collect_bool(all.len(), |row| all[row]);
    Ok(BooleanArray::new(all, None))
}

/// Sets `rows[row]` for each row for which the criterion holds. All entries must be `false` before the call.
fn mark(criterion: &Criterion, batch: &RecordBatch, plain: bool, rows: &mut [bool]) -> Result<(), SearchError> {
    match &criterion.condition {
        Condition::Values { compiled, test } => {
            let columns = compiled.plain.as_ref().filter(|_| plain);
            if !columns.is_some_and(|columns| columns.mark(test, batch, rows)) {
                mark_values(&values(compiled, batch)?, test, rows);
            }
        }
        Condition::Item { items, holds } => {
            let found = values(items, batch)?;
            let focus = Focus::root(batch, items.type_id).enter(&found);
            let holds = of_items(holds, &focus)?;
            let hits = holds.into_iter().enumerate().filter(|(_, holds)| *holds);
            hits.for_each(|(item, _)| rows[focus.row(item)] = true);
        }
        Condition::Holds(type_id) => inside::mark_holding(*type_id, batch, rows),
        Condition::Inside { references, targets } => {
            let inner = inner_references(&values(references, batch)?, rows.len());
            inside::mark_led_to(&inner, targets, batch, rows)?;
        }
        Condition::Tuples { compiled, test } => mark_tuples(compiled, test, batch, rows)?,
        Condition::Words { within, words } => mark_words(*within, words, batch, rows),
        Condition::All(parts) => {
            for (row, holds) in rows.iter_mut().zip(all(parts, batch, plain)?.values()) {
                *row = holds;
            }
        }
        Condition::Any(parts) => {
            for part in parts {
                let mut of_part = vec![false; rows.len()];
                mark(part, batch, plain, &mut of_part)?;
                rows.iter_mut().zip(of_part).for_each(|(row, holds)| *row |= holds);
            }
        }
        Condition::Not(part) => {
            mark(part, batch, plain, rows)?;
            rows.iter_mut().for_each(|row| *row = !*row);
        }
        Condition::Dynamic(filter) => {
            let kept = filter.keep(batch)?;
            rows.iter_mut()
                .zip(&kept)
                .for_each(|(row, kept)| *row = kept == Some(true));
        }
        Condition::Join(_) => return Err(SearchError::Unanswered),
    }
    Ok(())
}

/// Returns the values of a parameter. If its expression fails on a row, that row has no values.
fn values(compiled: &Compiled, batch: &RecordBatch) -> Result<Collection, SearchError> {
    let evaluation = compiled.program.evaluate(batch);
    Ok(evaluation.map_err(|source| compiled.failed(source))?.lenient())
}

/// Returns, for each row, the ids of the contained resources to which the row's references lead. Such a reference is
/// `#` and the id.
fn inner_references(values: &Collection, rows: usize) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new(); rows];
    for part in values.typed() {
        let texts = part.items.child("reference");
        let is_of_references = is_of_references(&part);
        let text = |item| {
            if is_of_references {
                only_text(&texts, item)
            } else {
                part.items.text(item)
            }
        };
        for (row, found) in found.iter_mut().enumerate() {
            let references = part.offsets.range(row).filter_map(text);
            found.extend(references.filter_map(|text| text.strip_prefix('#')).map(str::to_owned));
        }
    }
    found
}

/// Decides for each item in `focus` whether a criterion holds. The programs of the criterion are evaluated on the
/// items.
fn of_items(criterion: &Criterion, focus: &Focus) -> Result<Vec<bool>, SearchError> {
    let mut items = vec![false; focus.len()];
    match &criterion.condition {
        Condition::Values { compiled, test } => {
            let evaluation = compiled.program.evaluate_on(focus);
            let values = evaluation.map_err(|source| compiled.failed(source))?.lenient();
            mark_values(&values, test, &mut items);
        }
        Condition::All(parts) => {
            items.fill(true);
            for part in parts {
                let of_part = of_items(part, focus)?;
                items.iter_mut().zip(of_part).for_each(|(item, holds)| *item &= holds);
            }
        }
        Condition::Any(parts) => {
            for part in parts {
                let of_part = of_items(part, focus)?;
                items.iter_mut().zip(of_part).for_each(|(item, holds)| *item |= holds);
            }
        }
        Condition::Not(part) => {
            items = of_items(part, focus)?;
            items.iter_mut().for_each(|item| *item = !*item);
        }
        Condition::Tuples { .. }
        | Condition::Words { .. }
        | Condition::Item { .. }
        | Condition::Holds(_)
        | Condition::Inside { .. }
        | Condition::Join(_)
        | Condition::Dynamic(_) => {
            return Err(SearchError::Unanswered);
        }
    }
    Ok(items)
}

/// Sets `rows[row]` for each row with a value that does not match.
fn mark_differing(matcher: &Matcher, part: &Typed, rows: &mut [bool]) {
    let each = Typed {
        offsets: Offsets::Each(part.items.len()),
        items: part.items.clone(),
    };
    let mut same = vec![false; part.items.len()];
    matcher.mark(&each, &mut same);
    for (row, marked) in rows.iter_mut().enumerate() {
        *marked |= part.offsets.range(row).any(|item| !same[item]);
    }
}

fn mark_values(values: &Collection, test: &Test, rows: &mut [bool]) {
    match test {
        Test::Missing(missing) => {
            for (row, marked) in rows.iter_mut().enumerate() {
                *marked = values.range(row).is_empty() == *missing;
            }
        }
        Test::AnyOf { matchers, not } => {
            for part in values.typed() {
                for matcher in matchers {
                    matcher.mark(&part, rows);
                }
            }
            if *not {
                rows.iter_mut().for_each(|row| *row = !*row);
            }
        }
        Test::Differs(matcher) => {
            for part in values.typed() {
                mark_differing(matcher, &part, rows);
            }
        }
    }
}

/// Sets `rows[row]` for each row with a matching tuple. Each item of the composite's expression is one tuple, and the
/// components are evaluated on it.
fn mark_tuples(
    compiled: &Compiled,
    test: &TupleTest,
    batch: &RecordBatch,
    rows: &mut [bool],
) -> Result<(), SearchError> {
    let tuples = values(compiled, batch)?;
    let focus = Focus::root(batch, compiled.type_id).enter(&tuples);
    let mut components = Vec::with_capacity(compiled.components.len());
    for component in &compiled.components {
        let evaluation = component.program.evaluate_on(&focus);
        components.push(evaluation.map_err(|source| component.failed(source))?.lenient());
    }
    let hits = |passes: &dyn Fn(usize, &Collection, &mut [bool])| {
        let mut hits = vec![true; focus.len()];
        for (at, component) in components.iter().enumerate() {
            let mut of_component = vec![false; focus.len()];
            passes(at, component, &mut of_component);
            hits.iter_mut()
                .zip(of_component)
                .for_each(|(hit, passes)| *hit &= passes);
        }
        hits
    };
    let mut any = |hits: Vec<bool>| {
        let found = hits.into_iter().enumerate().filter(|(_, hit)| *hit);
        found.for_each(|(context, _)| rows[focus.row(context)] = true);
    };
    match test {
        TupleTest::Missing(missing) => {
            any(hits(&|_, component, hits| {
                let present = |(tuple, hit): (usize, &mut bool)| *hit = !component.range(tuple).is_empty();
                hits.iter_mut().enumerate().for_each(present);
            }));
            if *missing {
                rows.iter_mut().for_each(|row| *row = !*row);
            }
        }
        TupleTest::OneOf(set) => set.each(&components, |tuple| rows[focus.row(tuple)] = true),
        TupleTest::AnyOf(alternatives) => {
            for matchers in alternatives {
                any(hits(&|at, component, hits| {
                    for part in component.typed() {
                        matchers[at].mark(&part, hits);
                    }
                }));
            }
        }
    }
    Ok(())
}

fn mark_words(within: Within, words: &Words, batch: &RecordBatch, rows: &mut [bool]) {
    let mut found = Vec::new();
    for (row, marked) in rows.iter_mut().enumerate() {
        found.clear();
        match within {
            Within::Narrative => {
                let Some(text) = narrative(batch, row) else { continue };
                split_into(&without_markup(text), &mut found);
            }
            Within::Resource => {
                let Some(text) = text(batch.column_by_name("resource").map(AsRef::as_ref), row) else {
                    continue;
                };
                let mut tape = Tape::new();
                if let Ok(root) = tape.parse(text.as_bytes()) {
                    texts(root, &mut found);
                }
            }
        }
        *marked = words.hold(&found);
    }
}

fn narrative(batch: &RecordBatch, row: usize) -> Option<&str> {
    let texts = batch.column_by_name("text")?;
    match texts.data_type() {
        DataType::Struct(_) if texts.is_valid(row) => {
            text(texts.as_struct().column_by_name("div").map(AsRef::as_ref), row)
        }
        _ => None,
    }
}

fn text(column: Option<&dyn Array>, row: usize) -> Option<&str> {
    let texts = column?.as_string_opt::<i32>()?;
    texts.is_valid(row).then(|| texts.value(row))
}

/// Returns the text without its markup. Each tag and each entity, such as `&amp;`, becomes a blank.
fn without_markup(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut until = None;
    for c in html.chars() {
        match (until, c) {
            (Some(end), c) if c == end => {
                until = None;
                out.push(' ');
            }
            (Some(_), _) => {}
            (None, '<') => until = Some('>'),
            (None, '&') => until = Some(';'),
            (None, c) => out.push(c),
        }
    }
    out
}

/// Appends the words of all strings in a JSON value, in order. Of a narrative, appends only the words of the visible
/// text, without the markup.
fn texts(value: Value<'_>, words: &mut Vec<String>) {
    if value.is_object() {
        value.entries().for_each(|(_, value)| texts(value, words));
    } else if value.is_array() {
        value.items().for_each(|value| texts(value, words));
    } else if let Some(text) = value.as_str() {
        if text.starts_with("<div") {
            split_into(&without_markup(&text), words)
        } else {
            split_into(&text, words)
        }
    }
}
