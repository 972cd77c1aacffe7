//! Rows as row numbers: the result of a select tree before values are copied to the output. Sibling selects multiply
//! their rows. The branches of a union follow each other. The rows of an iteration become rows of its context. All
//! these operations compute with row numbers. Only a union copies values.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::{interleave, take};

use super::super::error::RunError;
use super::budget::{Budget, UNION_TEXT};
use super::index::{Index, NONE, NOTHING_FOUND};
use super::values::Gathered;

/// Assigns rows to contexts.
#[derive(Clone, Debug)]
pub(in crate::views) enum Counts {
    /// One row for each context.
    One(usize),
    /// Context `i` has the rows from `starts[i]` to `starts[i + 1]`.
    Starts(Vec<u32>),
}

impl Counts {
    pub(in crate::views) fn rows(&self) -> usize {
        match self {
            Counts::One(rows) => *rows,
            Counts::Starts(starts) => starts.last().map_or(0, |end| *end as usize),
        }
    }

    #[inline]
    fn start(&self, context: usize) -> u32 {
        match self {
            Counts::One(_) => context as u32,
            Counts::Starts(starts) => starts[context],
        }
    }

    fn range(&self, context: usize) -> Range<u32> {
        self.start(context)..self.start(context + 1)
    }
}

/// The values of an output column in the rows of one context.
#[derive(Clone, Debug)]
pub(in crate::views) struct Part {
    pub(in crate::views) slot: usize,
    pub(in crate::views) values: Gathered,
    pub(in crate::views) is_row_index: bool,
}

/// Columns whose values come from the same context. For each row of the relation, `index` says from which row of this
/// context the values come.
#[derive(Clone, Debug)]
pub(in crate::views) struct Group {
    pub(in crate::views) parts: Vec<Part>,
    pub(in crate::views) index: Index,
    /// Whether the values come from the context of the current select, and not from an iteration inside the select. If
    /// so, `%rowIndex` is 0 in the row that `forEachOrNull` adds for a context without items.
    pub(in crate::views) own: bool,
}

/// The rows of each context, as columns of row numbers.
#[derive(Clone, Debug)]
pub(in crate::views) struct Relation {
    pub(in crate::views) counts: Counts,
    pub(in crate::views) groups: Vec<Group>,
}

impl Relation {
    /// Returns the number of rows.
    pub(in crate::views) fn rows(&self) -> usize {
        self.counts.rows()
    }

    /// Returns for each context every combination of the parts' rows. The rows of the last part change fastest.
    /// `contexts` is the number of contexts. An error if the rows exceed the budget.
    pub(in crate::views) fn product(
        contexts: usize,
        mut parts: Vec<Relation>,
        budget: &Budget,
    ) -> Result<Relation, RunError> {
        let several = parts
            .iter()
            .filter(|part| matches!(part.counts, Counts::Starts(_)))
            .count();
        match several {
            0 => {
                let groups = parts.into_iter().flat_map(|part| part.groups).collect();
                return Ok(Relation {
                    counts: Counts::One(contexts),
                    groups,
                });
            }
            _ if parts.len() == 1 => return Ok(parts.swap_remove(0)),
            _ => {}
        }
        let mut starts = Vec::with_capacity(contexts + 1);
        let mut total = 0usize;
        starts.push(0);
        for context in 0..contexts {
            let rows = parts
                .iter()
                .try_fold(1usize, |rows, part| rows.checked_mul(part.counts.range(context).len()));
            total = rows
                .and_then(|rows| total.checked_add(rows))
                .filter(|total| budget.has_rows(*total))
                .ok_or(RunError::TooManyRows)?;
            starts.push(total as u32);
        }
        // If only one part has several rows per context, the product has the same rows as this part. So the row numbers
        // of this part need no copy.
        let keeps = |part: &Relation| several == 1 && matches!(part.counts, Counts::Starts(_));
        let made = parts.iter().filter(|part| !keeps(part)).map(|part| part.groups.len());
        budget.take(total, made.sum())?;
        let counts = Counts::Starts(starts);
        let mut parents: Option<Arc<[u32]>> = None;
        let mut groups = Vec::new();
        for place in 0..parts.len() {
            let outer: Arc<[u32]> = match (&parts[place].counts, several) {
                // This is the only part with several rows per context, so its rows are the rows of the product.
                (Counts::Starts(_), 1) => {
                    groups.append(&mut parts[place].groups);
                    continue;
                }
                (Counts::One(_), _) => parents
                    .get_or_insert_with(|| parents_of(&counts, contexts).into())
                    .clone(),
                (Counts::Starts(_), _) => cycle(&counts, &parts, place, contexts).into(),
            };
            for group in std::mem::take(&mut parts[place].groups) {
                groups.push(Group {
                    index: group.index.through(&outer),
                    ..group
                });
            }
        }
        Ok(Relation { counts, groups })
    }

    /// Turns the rows of an iteration's items into rows of the contexts that contain the items. `items` says which
    /// items each context has. With `or_null`, a context without items gets one row.
    pub(in crate::views) fn lift(
        self,
        items: &Counts,
        contexts: usize,
        or_null: bool,
        budget: &Budget,
    ) -> Result<Relation, RunError> {
        let empty = (0..contexts).filter(|context| items.range(*context).is_empty()).count();
        let mut starts = Vec::with_capacity(contexts + 1);
        starts.push(0u32);
        if empty == 0 || !or_null {
            starts.extend((0..contexts).map(|context| self.counts.start(items.start(context + 1) as usize)));
            let groups = self
                .groups
                .into_iter()
                .map(|group| Group { own: false, ..group })
                .collect();
            return Ok(Relation {
                counts: Counts::Starts(starts),
                groups,
            });
        }
        budget.take(self.rows() + empty, self.groups.len())?;
        let mut outer = Vec::with_capacity(self.rows() + empty);
        for context in 0..contexts {
            let range = items.range(context);
            if range.is_empty() {
                outer.push(NOTHING_FOUND);
            } else {
                outer.extend(self.counts.start(range.start as usize)..self.counts.start(range.end as usize));
            }
            starts.push(outer.len() as u32);
        }
        let outer: Arc<[u32]> = outer.into();
        let inner: Arc<[u32]> = outer
            .iter()
            .map(|row| if *row == NOTHING_FOUND { NONE } else { *row })
            .collect();
        let lifted = |group: Group| {
            let index = group.index.through(if group.own { &outer } else { &inner });
            Group {
                index,
                own: false,
                ..group
            }
        };
        let groups = self.groups.into_iter().map(lifted).collect();
        Ok(Relation {
            counts: Counts::Starts(starts),
            groups,
        })
    }

    /// Returns for each context the rows of the first branch, then those of the second, and so on. All branches fill
    /// the same slots.
    pub(in crate::views) fn union(
        contexts: usize,
        branches: Vec<Relation>,
        budget: &Budget,
    ) -> Result<Relation, RunError> {
        let total: usize = branches.iter().map(Relation::rows).sum();
        let slots = branches.first().map(Relation::slots).unwrap_or_default();
        budget.take(total, slots.len())?;
        if branches
            .iter()
            .any(|branch| !branch.fits(UNION_TEXT / branches.len().max(1)))
        {
            return Err(RunError::TooMuchText);
        }
        let mut starts = Vec::with_capacity(contexts + 1);
        let mut places = Vec::with_capacity(total);
        starts.push(0u32);
        for context in 0..contexts {
            for (branch, relation) in branches.iter().enumerate() {
                places.extend(relation.counts.range(context).map(|row| (branch, row as usize)));
            }
            starts.push(places.len() as u32);
        }
        let mut parts = Vec::with_capacity(slots.len());
        for (slot, is_row_index) in slots {
            let columns = branches
                .iter()
                .map(|branch| branch.column(slot, 0..branch.rows()))
                .collect::<Result<Vec<_>, _>>()?;
            let columns: Vec<&dyn arrow::array::Array> = columns.iter().map(|column| column.as_ref()).collect();
            let source = interleave(&columns, &places)?;
            parts.push(Part {
                slot,
                values: Gathered {
                    source,
                    slots: Index::Same,
                },
                is_row_index,
            });
        }
        let groups = vec![Group {
            parts,
            index: Index::Same,
            own: true,
        }];
        Ok(Relation {
            counts: Counts::Starts(starts),
            groups,
        })
    }

    /// Returns the slots that the relation fills, in order, each with a flag for `%rowIndex`.
    fn slots(&self) -> Vec<(usize, bool)> {
        let parts = self.groups.iter().flat_map(|group| &group.parts);
        let mut slots: Vec<(usize, bool)> = parts.map(|part| (part.slot, part.is_row_index)).collect();
        slots.sort_unstable();
        slots
    }

    /// Returns the values of a slot in a range of rows.
    pub(in crate::views) fn column(&self, slot: usize, rows: Range<usize>) -> Result<ArrayRef, RunError> {
        let mut found = self
            .groups
            .iter()
            .flat_map(|group| group.parts.iter().map(move |part| (group, part)));
        let Some((group, part)) = found.find(|(_, part)| part.slot == slot) else {
            return Err(RunError::Arrow(arrow::error::ArrowError::SchemaError(format!(
                "no column fills slot {slot}"
            ))));
        };
        let Gathered { source, slots } = &part.values;
        if let (Index::Same, Index::Same) = (&group.index, slots) {
            return Ok(source.slice(rows.start, rows.len()));
        }
        let of = |row: usize| match group.index.get(row) {
            NONE | NOTHING_FOUND => None,
            row => Some(slots.get(row as usize)).filter(|slot| *slot != NONE),
        };
        let indices: UInt32Array = rows.clone().map(of).collect();
        let values = take(source, &indices, None)?;
        if !part.is_row_index || !rows.clone().any(|row| group.index.get(row) == NOTHING_FOUND) {
            return Ok(values);
        }
        let nothing: arrow::array::BooleanArray = rows.map(|row| Some(group.index.get(row) == NOTHING_FOUND)).collect();
        let zeros = zeros(&values)?;
        Ok(arrow::compute::kernels::zip::zip(&nothing, &zeros, &values)?)
    }
}

/// Returns as many zeros as there are values, of the type of the values.
fn zeros(values: &ArrayRef) -> Result<ArrayRef, RunError> {
    let zeros: ArrayRef = Arc::new(arrow::array::Int32Array::from_value(0, values.len()));
    Ok(arrow::compute::cast(&zeros, values.data_type())?)
}

/// Returns the context of each row.
fn parents_of(counts: &Counts, contexts: usize) -> Vec<u32> {
    let mut parents = Vec::with_capacity(counts.rows());
    for context in 0..contexts {
        parents.extend(std::iter::repeat_n(context as u32, counts.range(context).len()));
    }
    parents
}

/// Returns for each row of a product the row of the part at `place`.
fn cycle(counts: &Counts, parts: &[Relation], place: usize, contexts: usize) -> Vec<u32> {
    let mut rows = Vec::with_capacity(counts.rows());
    for context in 0..contexts {
        let range = parts[place].counts.range(context);
        let stride: usize = parts[place + 1..]
            .iter()
            .map(|part| part.counts.range(context).len())
            .product();
        let total = counts.range(context).len();
        let block = range.len() * stride;
        for _ in 0..total.checked_div(block).unwrap_or(0) {
            rows.extend(range.clone().flat_map(|row| std::iter::repeat_n(row, stride)));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;
    use proptest::prelude::*;

    use super::*;

    /// Returns a relation with one column, which numbers its rows.
    fn numbered(slot: usize, counts: &[u32]) -> Relation {
        let mut starts = vec![0];
        counts
            .iter()
            .for_each(|count| starts.push(starts.last().unwrap() + count));
        let source: ArrayRef = Arc::new(Int32Array::from_iter_values(0..*starts.last().unwrap() as i32));
        let values = Gathered {
            source,
            slots: Index::Same,
        };
        let parts = vec![Part {
            slot,
            values,
            is_row_index: false,
        }];
        let counts = if counts.iter().all(|count| *count == 1) {
            Counts::One(counts.len())
        } else {
            Counts::Starts(starts)
        };
        Relation {
            counts,
            groups: vec![Group {
                parts,
                index: Index::Same,
                own: true,
            }],
        }
    }

    fn rows(relation: &Relation, slots: usize) -> Vec<Vec<Option<i32>>> {
        let columns: Vec<ArrayRef> = (0..slots)
            .map(|slot| relation.column(slot, 0..relation.rows()).unwrap())
            .collect();
        let value = |row: usize| {
            columns
                .iter()
                .map(move |column| column.as_primitive::<Int32Type>().iter().nth(row).unwrap())
        };
        (0..relation.rows()).map(|row| value(row).collect()).collect()
    }

    proptest! {
        #[test]
        fn a_product_is_nested_loops(
            counts in proptest::collection::vec(proptest::collection::vec(0u32..4, 3), 0..6),
        ) {
            let part = |slot: usize| numbered(slot, &counts.iter().map(|counts| counts[slot]).collect::<Vec<_>>());
            let product = Relation::product(counts.len(), vec![part(0), part(1), part(2)], &Budget::new()).unwrap();
            let mut expected = Vec::new();
            let mut starts = [0u32; 3];
            for counts in &counts {
                for a in 0..counts[0] {
                    for b in 0..counts[1] {
                        for c in 0..counts[2] {
                            let row = [starts[0] + a, starts[1] + b, starts[2] + c];
                            expected.push(row.iter().map(|row| Some(*row as i32)).collect::<Vec<_>>());
                        }
                    }
                }
                (0..3).for_each(|slot| starts[slot] += counts[slot]);
            }
            prop_assert_eq!(rows(&product, 3), expected);
        }

        #[test]
        fn a_union_keeps_contexts_together(a in proptest::collection::vec(0u32..3, 4), b in proptest::collection::vec(0u32..3, 4)) {
            let union = Relation::union(4, vec![numbered(0, &a), numbered(0, &b)], &Budget::new()).unwrap();
            let (mut expected, mut next) = (Vec::new(), [0i32; 2]);
            for context in 0..4 {
                for (branch, counts) in [&a, &b].into_iter().enumerate() {
                    for _ in 0..counts[context] {
                        expected.push(vec![Some(next[branch])]);
                        next[branch] += 1;
                    }
                }
            }
            prop_assert_eq!(rows(&union, 1), expected);
        }

        #[test]
        fn an_iteration_that_found_nothing_gives_a_row_if_asked(items in proptest::collection::vec(0u32..3, 0..6), or_null: bool) {
            let total: u32 = items.iter().sum();
            let inner = numbered(0, &vec![1; total as usize]);
            let mut starts = vec![0];
            items.iter().for_each(|count| starts.push(starts.last().unwrap() + count));
            let lifted = inner.lift(&Counts::Starts(starts), items.len(), or_null, &Budget::new()).unwrap();
            let (mut expected, mut next) = (Vec::new(), 0);
            for count in &items {
                if *count == 0 && or_null {
                    expected.push(vec![None]);
                }
                for _ in 0..*count {
                    expected.push(vec![Some(next)]);
                    next += 1;
                }
            }
            prop_assert_eq!(rows(&lifted, 1), expected);
        }
    }

    #[test]
    fn more_than_is_held_at_once_is_an_error() {
        let wide = || numbered(0, &[100]);
        let product = |rows, cells| Relation::product(1, vec![wide(), wide()], &Budget::of(rows, cells));
        assert_eq!(product(10_000, 20_000).unwrap().rows(), 10_000);
        assert!(matches!(product(9_999, 20_000), Err(RunError::TooManyRows)));
        assert!(matches!(product(10_000, 19_999), Err(RunError::TooManyRows)));
        let union = |rows, cells| Relation::union(1, vec![wide(), wide()], &Budget::of(rows, cells));
        assert_eq!(union(200, 200).unwrap().rows(), 200);
        assert!(matches!(union(199, 200), Err(RunError::TooManyRows)));
        assert!(matches!(union(200, 199), Err(RunError::TooManyRows)));
    }
}
