//! Conditions on the values of one item, such as: one `coding` has this system and this code. This file defines such a
//! condition and evaluates it over Arrow columns. The scan decides the condition on dictionary codes instead if that
//! costs less.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::NullBuffer;

use super::id_set::IdSet;
use crate::fhir::case::{bytes_same_but_for_case, same_but_for_case};
use crate::fhir::storage::LeafSet;

/// An exact condition on a row: at least one item of the row passes all tests of one combination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemMatch {
    /// The dotted paths of the tested text leaves. All are fields of the same struct, or all are columns at the
    /// table's root.
    pub leaves: Vec<Arc<str>>,
    /// The combinations. Each has one test for each leaf, in the order of `leaves`. At least one test of each
    /// combination is [`LeafTest::Is`], [`LeafTest::Like`] or [`LeafTest::In`].
    pub any_of: Vec<Vec<LeafTest>>,
    /// The text that `explain` shows.
    pub label: Arc<str>,
}

/// A test of one leaf of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeafTest {
    /// The leaf may have any value, or none.
    Any,
    /// The leaf has no value.
    Absent,
    /// The leaf has exactly this text.
    Is(Arc<str>),
    /// The leaf has this text, ignoring case.
    Like(Arc<str>),
    /// The leaf has one of these ids.
    In(Arc<IdSet>),
}

/// The scan decides a condition on dictionary codes only if the condition has at most this many combinations. Each
/// combination takes one bit of a 64-bit word.
pub(crate) const MAX_ALTERNATIVES: usize = 64;

impl ItemMatch {
    /// Returns the leaves that the condition reads.
    pub fn leaf_set(&self) -> LeafSet {
        self.leaves.iter().map(|leaf| leaf.to_string()).collect()
    }

    /// Returns the set of ids if the condition is `id in (...)`: one combination whose only test is [`LeafTest::In`] on
    /// the column `id`. Matching rows have no other ids. `None` for any other condition.
    pub(crate) fn ids(&self) -> Option<&IdSet> {
        match (self.leaves.as_slice(), self.any_of.as_slice()) {
            ([leaf], [tests]) if &**leaf == "id" => tests.iter().find_map(|test| match test {
                LeafTest::In(ids) => Some(&**ids),
                _ => None,
            }),
            _ => None,
        }
    }

    /// Returns a bit mask of combinations: bit `i` is set if `value` passes the test that `any_of[i]` has for this
    /// leaf. `leaf` is an index into `leaves`. If `value` is `None`, the leaf has no value. Only the first
    /// [`MAX_ALTERNATIVES`] combinations have a bit.
    pub(crate) fn allowed(&self, leaf: usize, value: Option<&[u8]>) -> u64 {
        let fits = |tests: &Vec<LeafTest>| match (tests.get(leaf), value) {
            (Some(LeafTest::Any), _) | (Some(LeafTest::Absent), None) => true,
            (Some(LeafTest::Is(text)), Some(value)) => text.as_bytes() == value,
            (Some(LeafTest::In(ids)), Some(value)) => ids.holds(value),
            (Some(LeafTest::Like(text)), Some(value)) => bytes_same_but_for_case(text, value),
            _ => false,
        };
        let bits = self.any_of.iter().take(MAX_ALTERNATIVES).enumerate();
        bits.fold(0, |allowed, (at, tests)| allowed | (u64::from(fits(tests)) << at))
    }

    /// Returns for each row of a batch whether it matches. No row matches if a column on the path to the leaves is
    /// missing.
    pub(crate) fn evaluate(&self, batch: &RecordBatch) -> BooleanArray {
        let mut rows = vec![false; batch.num_rows()];
        let prefix = self
            .leaves
            .first()
            .and_then(|leaf| leaf.rsplit_once('.'))
            .map(|(prefix, _)| prefix);
        let name = |leaf: &str| leaf.rsplit('.').next().unwrap_or_default().to_owned();
        let items = match prefix {
            None => Some(Items {
                columns: batch.columns().to_vec(),
                names: batch
                    .schema()
                    .fields()
                    .iter()
                    .map(|field| field.name().clone())
                    .collect(),
                rows: (0..batch.num_rows()).collect(),
                nulls: None,
            }),
            Some(prefix) => Items::at(batch, prefix),
        };
        let Some(items) = items else {
            return BooleanArray::from(rows);
        };
        let columns: Vec<Option<&ArrayRef>> = self
            .leaves
            .iter()
            .map(|leaf| {
                items
                    .names
                    .iter()
                    .position(|have| *have == name(leaf))
                    .map(|at| &items.columns[at])
            })
            .collect();
        for (item, row) in items.rows.iter().enumerate() {
            if items.nulls.as_ref().is_some_and(|nulls| nulls.is_null(item)) {
                continue;
            }
            let fits = |tests: &Vec<LeafTest>| {
                tests.iter().zip(&columns).all(|(test, column)| {
                    let texts = column.and_then(|column| column.as_string_opt::<i32>());
                    let value = texts
                        .filter(|texts| texts.is_valid(item))
                        .map(|texts| texts.value(item));
                    match test {
                        LeafTest::Any => true,
                        LeafTest::Absent => value.is_none(),
                        LeafTest::Is(text) => value == Some(text),
                        LeafTest::In(ids) => value.is_some_and(|value| ids.contains(value)),
                        LeafTest::Like(text) => value.is_some_and(|value| same_but_for_case(value, text)),
                    }
                })
            };
            rows[*row] = rows[*row] || self.any_of.iter().any(fits);
        }
        BooleanArray::from(rows)
    }
}

/// The items of a batch: the structs at one path, or the rows themselves. `rows` has the index of the row for each
/// item.
struct Items {
    names: Vec<String>,
    columns: Vec<ArrayRef>,
    rows: Vec<usize>,
    nulls: Option<NullBuffer>,
}

impl Items {
    /// Finds the items at a dotted path. `None` if a column on the path is missing or is not a struct.
    fn at(batch: &RecordBatch, path: &str) -> Option<Items> {
        let mut names = path.split('.');
        let mut array = batch.column_by_name(names.next()?)?.clone();
        let mut rows: Vec<usize> = (0..batch.num_rows()).collect();
        loop {
            while let Some(list) = array.as_list_opt::<i32>() {
                let (offsets, mut inner) = (list.offsets(), vec![0; list.values().len()]);
                // Drop the items of null lists and the items outside of a sliced array, because they belong to no row.
                let mut real = vec![false; inner.len()];
                for at in (0..list.len()).filter(|at| list.is_valid(*at)) {
                    for item in offsets[at] as usize..offsets[at + 1] as usize {
                        (inner[item], real[item]) = (rows[at], true);
                    }
                }
                let real = BooleanArray::from(real);
                let kept = arrow::compute::filter(list.values(), &real).ok()?;
                rows = inner
                    .into_iter()
                    .zip(real.values())
                    .filter(|(_, real)| *real)
                    .map(|(row, _)| row)
                    .collect();
                array = kept;
            }
            let items = array.as_struct_opt()?;
            let Some(name) = names.next() else {
                return Some(Items {
                    names: items.fields().iter().map(|field| field.name().clone()).collect(),
                    columns: items.columns().to_vec(),
                    nulls: items.nulls().cloned(),
                    rows,
                });
            };
            let inner = items.column_by_name(name)?.clone();
            // The children of a null struct have no value. Drop them.
            array = match items.nulls() {
                Some(nulls) if nulls.null_count() > 0 => {
                    let valid = BooleanArray::new(nulls.inner().clone(), None);
                    rows = rows
                        .into_iter()
                        .zip(nulls.iter())
                        .filter(|(_, valid)| *valid)
                        .map(|(row, _)| row)
                        .collect();
                    arrow::compute::filter(&inner, &valid).ok()?
                }
                _ => inner,
            };
        }
    }
}
