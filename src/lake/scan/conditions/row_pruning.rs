//! Checks a [`Prune`] row by row, on the dictionary codes and levels of its leaves. This helps if few rows match but
//! page statistics keep many. Examples are ranges of numbers or moments, and conditions on presence. The scan decodes
//! no column and evaluates no predicate for the rows that this check drops.
//!
//! The check keeps every row that may match. It drops no row because of a condition on texts or booleans, except if
//! statistics refute the condition for the whole row group.
//!
//! The check reads a leaf once for up to eight conditions. A date has two leaves, start and end. If both have
//! conditions, the check reads only the starts: it computes the shortest and the longest interval of the row group
//! once, and turns the condition on the end into a condition on the start. If the intervals have different lengths,
//! this keeps more rows. So a check that decides the caller's condition reads both leaves then.

use std::sync::Arc;

use parquet::basic::Type;
use parquet::errors::ParquetError;

use super::super::cache::file::{OpenFile, ReadBytes, Widths};
use super::super::decode::chunk::Chunk;
use super::pruning::{Extent, decimal, has_all_numbers, prune};
use super::ranges::Ranges;
use crate::columns::conditions::Prune;
use crate::fhir::storage::{END, START};

/// Counts of the rows that the check has seen and kept so far in one partition. They show whether the check pays.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lake::scan) struct RowPruning {
    asked: usize,
    kept: usize,
}

/// The result of a check.
pub(in crate::lake::scan) struct Checked {
    /// The rows that may meet the condition.
    pub(in crate::lake::scan) rows: Ranges,
    /// Whether each of these rows meets the condition.
    pub(in crate::lake::scan) is_exact: bool,
}

impl RowPruning {
    /// Whether checking a row group is likely to pay. `rows` is the number of remaining rows of the row group, and `of`
    /// the number of all its rows. `suffices` says whether the check may decide the predicates. Returns `false` if few
    /// rows remain, because decoding them is cheaper than reading the codes of all rows. Also returns `false` if
    /// earlier checks that were not exact have kept more than half of their rows, because this one will probably do the
    /// same.
    pub(in crate::lake::scan) fn pays(&self, rows: usize, of: u32, suffices: bool) -> bool {
        let min_share = if suffices { MIN_DECIDED_SHARE } else { MIN_SHARE };
        rows * min_share >= of as usize && self.kept * 2 <= self.asked
    }

    /// Returns those of `rows` for which the condition may hold. `None` if the check cannot drop any row, for example
    /// because of an unknown encoding. If `suffices` is false, the result is never exact.
    pub(in crate::lake::scan) fn keep(
        &mut self,
        rows: &Ranges,
        (condition, suffices): (&Prune, bool),
        file: &Arc<OpenFile>,
        group: usize,
        read: &Arc<ReadBytes>,
    ) -> Result<Option<Checked>, ParquetError> {
        let group = RowGroup { file, group, read };
        let mut conditions = Conditions {
            is_decided: suffices,
            ..Conditions::default()
        };
        let (kept, is_exact) = match group.reduced(condition, &mut conditions) {
            Reduced::All => (Kept::All, false),
            Reduced::None => (Kept::None, suffices),
            Reduced::Rows(tree) => {
                group.ends_to_starts(&mut conditions)?;
                let mut leaves = Leaves::of(group, &conditions.all);
                let kept = leaves.kept(&tree)?;
                (kept, conditions.is_decided && !leaves.has_unknown())
            }
        };
        let left = match kept {
            Kept::All if !is_exact => return Ok(None),
            Kept::All => rows.clone(),
            Kept::None => Ranges::default(),
            Kept::Some(kept) => rows.intersect(&ranges(&kept)),
        };
        if !is_exact {
            self.asked += rows.count();
            self.kept += left.count();
        }
        Ok(Some(Checked { rows: left, is_exact }))
    }
}

/// The check runs only if at least one in this many rows of the row group remains.
const MIN_SHARE: usize = 8;
/// The same for a check that may decide the predicates, so that no column is decoded for them. To decode a few rows of
/// every page takes almost as long as to decode all rows.
const MIN_DECIDED_SHARE: usize = 256;

/// The rows that a condition keeps.
enum Kept {
    All,
    None,
    /// The rows whose value is `true`.
    Some(Vec<bool>),
}

/// A condition without the parts that statistics decide. `All` means that the condition keeps all rows, `None` that it
/// keeps no row.
enum Reduced {
    All,
    None,
    Rows(Rows),
}

/// The part of a condition that statistics do not decide. A `Leaf` has the index of a condition in the list of
/// [`OnLeaf`].
enum Rows {
    And(Vec<Rows>),
    Or(Vec<Rows>),
    Leaf(usize),
}

/// A condition on one leaf.
#[derive(Clone, Copy, PartialEq)]
struct OnLeaf {
    leaf: usize,
    wanted: Wanted,
}

/// The values of a leaf that meet a condition.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    /// The numbers from the first to the second one, both included.
    Range(i128, i128),
    /// Any value.
    Some,
    /// No value, in an item that exists.
    None,
}

impl OnLeaf {
    fn holds(&self, physical_type: Type, value: Option<&[u8]>) -> bool {
        match (self.wanted, value) {
            (Wanted::None, value) => value.is_none(),
            (_, None) => false,
            (Wanted::Some, Some(_)) => true,
            // A value that cannot be read as a number is kept, too.
            (Wanted::Range(from, to), Some(value)) => {
                number(physical_type, value).is_none_or(|number| from <= number && number <= to)
            }
        }
    }
}

/// The conditions on leaves that statistics do not decide.
#[derive(Default)]
struct Conditions {
    all: Vec<OnLeaf>,
    /// Whether these conditions decide everything that statistics do not decide. `false` if presence conditions are
    /// among them, because other parts of the caller's condition then decide.
    is_decided: bool,
}

impl Conditions {
    /// Adds a condition, and returns its index.
    fn add(&mut self, condition: OnLeaf) -> usize {
        let known = self.all.iter().position(|have| *have == condition);
        known.unwrap_or_else(|| {
            self.all.push(condition);
            self.all.len() - 1
        })
    }
}

#[derive(Clone, Copy)]
struct RowGroup<'a> {
    file: &'a Arc<OpenFile>,
    group: usize,
    read: &'a Arc<ReadBytes>,
}

impl RowGroup<'_> {
    /// Removes the parts of a condition that statistics decide, and adds the remaining conditions on leaves to `left`.
    fn reduced(&self, condition: &Prune, left: &mut Conditions) -> Reduced {
        let reduced = self.reduced_parts(condition, left);
        // Nothing more is known of a condition that keeps all rows.
        left.is_decided &= !matches!(reduced, Reduced::All);
        reduced
    }

    fn reduced_parts(&self, condition: &Prune, left: &mut Conditions) -> Reduced {
        match condition {
            Prune::Keep => Reduced::All,
            Prune::Nothing => Reduced::None,
            Prune::And(parts) => {
                let mut rest = Vec::new();
                for part in parts {
                    match self.reduced(part, left) {
                        Reduced::All => {}
                        Reduced::None => return Reduced::None,
                        Reduced::Rows(rows) => rest.push(rows),
                    }
                }
                if rest.is_empty() {
                    Reduced::All
                } else {
                    Reduced::Rows(Rows::And(rest))
                }
            }
            Prune::Or(parts) => {
                let mut rest = Vec::new();
                for part in parts {
                    match self.reduced(part, left) {
                        Reduced::All => return Reduced::All,
                        Reduced::None => {}
                        Reduced::Rows(rows) => rest.push(rows),
                    }
                }
                if rest.is_empty() {
                    Reduced::None
                } else {
                    Reduced::Rows(Rows::Or(rest))
                }
            }
            _ if prune(self.file, self.group, condition).is_empty() => Reduced::None,
            Prune::Text { .. } | Prune::Flag { .. } => Reduced::All,
            Prune::Range { leaf, from, to } => match Extent::of_group(self.file, self.group, leaf) {
                Some(extent) if extent.numbers().is_some() && has_all_numbers(self.file, self.group, leaf) => {
                    let range = Wanted::Range(from.unwrap_or(i128::MIN), to.unwrap_or(i128::MAX));
                    self.of_rows(leaf, range, left)
                }
                _ => Reduced::All,
            },
            Prune::Present { leaf } => match Extent::of_group(self.file, self.group, leaf) {
                Some(extent) if !extent.is_everywhere() => {
                    left.is_decided = false;
                    self.of_rows(leaf, Wanted::Some, left)
                }
                _ => Reduced::All,
            },
            Prune::Lacks { leaf, beside } => {
                let with = self.of_rows(beside, Wanted::Some, left);
                match (with, self.file.leaf(leaf)) {
                    (Reduced::Rows(with), Some(_)) => match self.of_rows(leaf, Wanted::None, left) {
                        Reduced::Rows(without) => Reduced::Rows(Rows::And(vec![with, without])),
                        other => other,
                    },
                    // No item of the file has the leaf.
                    (with, _) => with,
                }
            }
        }
    }

    fn of_rows(&self, path: &str, wanted: Wanted, left: &mut Conditions) -> Reduced {
        match self.file.leaf(path) {
            Some(leaf) => Reduced::Rows(Rows::Leaf(left.add(OnLeaf { leaf, wanted }))),
            None => Reduced::All,
        }
    }

    /// Replaces a condition on the end of a date by one on its start, if there is also a condition on the start. An
    /// interval whose end is in `from..=to` starts in `from - longest..=to - shortest`, so the new condition keeps
    /// every row that the old one keeps. If it also keeps others and the conditions must decide, the old one stays.
    fn ends_to_starts(&self, conditions: &mut Conditions) -> Result<(), ParquetError> {
        for at in 0..conditions.all.len() {
            let end = conditions.all[at];
            let Wanted::Range(from, to) = end.wanted else { continue };
            let start = self.file.paths()[end.leaf].strip_suffix(END);
            let start = start.and_then(|path| self.file.leaf(&format!("{path}{START}")));
            let Some(start) = start.filter(|start| conditions.all.iter().any(|have| have.leaf == *start)) else {
                continue;
            };
            if let Some(Widths { shortest, longest }) = self.widths(start, end.leaf)?
                && (shortest == longest || !conditions.is_decided)
            {
                let (from, to) = (from.saturating_sub(longest.into()), to.saturating_sub(shortest.into()));
                conditions.all[at] = OnLeaf {
                    leaf: start,
                    wanted: Wanted::Range(from, to),
                };
            }
        }
        Ok(())
    }

    /// Returns the lengths of the intervals between a leaf of starts and a leaf of ends. `None` if some interval lacks
    /// a bound or ends before it starts, or if the leaves cannot be read. The first call for a row group reads both
    /// leaves.
    fn widths(&self, start: usize, end: usize) -> Result<Option<Widths>, ParquetError> {
        let known = self.file.groups()[self.group].widths(start);
        match known {
            Some(widths) => Ok(widths),
            None => {
                let widths = self.measured(start, end)?;
                self.file.keep_widths(self.group, start, widths);
                Ok(widths)
            }
        }
    }

    fn measured(&self, start: usize, end: usize) -> Result<Option<Widths>, ParquetError> {
        let (Some(starts), Some(ends)) = (self.moments(start)?, self.moments(end)?) else {
            return Ok(None);
        };
        if starts.len() != ends.len() {
            return Ok(None);
        }
        let (mut shortest, mut longest) = (u64::MAX, 0);
        for pair in starts.into_iter().zip(ends) {
            match pair {
                (ABSENT, ABSENT) => {}
                (ABSENT, _) | (_, ABSENT) => return Ok(None),
                (start, end) if start <= end => {
                    let width = end.abs_diff(start);
                    (shortest, longest) = (shortest.min(width), longest.max(width));
                }
                _ => return Ok(None),
            }
        }
        let shortest = shortest.min(longest);
        Ok(Some(Widths { shortest, longest }))
    }

    /// Returns the moment in each slot of a leaf, and [`ABSENT`] for a slot without a value. `None` if the leaf has
    /// another type or an unknown encoding.
    fn moments(&self, leaf: usize) -> Result<Option<Vec<i64>>, ParquetError> {
        if self.column_type(leaf) != Type::INT64 {
            return Ok(None);
        }
        let moment = |value: Option<&[u8]>| {
            let bytes = value.and_then(|value| value.try_into().ok());
            Moment(bytes.map_or(ABSENT, i64::from_le_bytes))
        };
        let Some(chunk) = Chunk::open(self.file, self.group, leaf, self.read, moment)? else {
            return Ok(None);
        };
        let slots = chunk.slots()?;
        Ok(slots.map(|slots| slots.allowed.into_iter().map(|moment| moment.0).collect()))
    }

    fn column_type(&self, leaf: usize) -> Type {
        self.file.metadata().row_group(self.group).column(leaf).column_type()
    }
}

/// Stands for a missing moment. It is no real moment, because no year of four digits is that early.
const ABSENT: i64 = i64::MIN;

/// A moment in microseconds, or [`ABSENT`].
#[derive(Clone, Copy)]
struct Moment(i64);

impl Default for Moment {
    fn default() -> Moment {
        Moment(ABSENT)
    }
}

/// The leaves that conditions name. A leaf is read when the first of its conditions is decided.
struct Leaves<'a> {
    group: RowGroup<'a>,
    /// For each condition, the index of its leaf in `read`, and the bit that stands for the condition in `Leaf::rows`.
    conditions: Vec<(usize, u8)>,
    read: Vec<Leaf>,
}

/// A leaf and up to eight conditions on it.
struct Leaf {
    leaf: usize,
    conditions: Vec<OnLeaf>,
    rows: Option<Bits>,
}

/// For each row, the conditions that the row meets, as bits.
#[derive(Clone)]
enum Bits {
    /// The codes cannot decide the conditions.
    Unknown,
    /// No row meets any condition.
    None,
    Rows(Vec<u8>),
}

impl<'a> Leaves<'a> {
    fn of(group: RowGroup<'a>, conditions: &[OnLeaf]) -> Leaves<'a> {
        let mut read: Vec<Leaf> = Vec::new();
        let places = conditions.iter().map(|condition| {
            let has_room = |have: &Leaf| have.leaf == condition.leaf && have.conditions.len() < u8::BITS as usize;
            let at = read.iter().position(has_room).unwrap_or_else(|| {
                read.push(Leaf {
                    leaf: condition.leaf,
                    conditions: Vec::new(),
                    rows: None,
                });
                read.len() - 1
            });
            read[at].conditions.push(*condition);
            (at, 1 << (read[at].conditions.len() - 1))
        });
        let conditions = places.collect();
        Leaves {
            group,
            conditions,
            read,
        }
    }

    /// Whether the codes of a leaf that was read cannot decide its conditions.
    fn has_unknown(&self) -> bool {
        let mut read = self.read.iter();
        read.any(|leaf| matches!(leaf.rows, Some(Bits::Unknown)))
    }

    fn kept(&mut self, rows: &Rows) -> Result<Kept, ParquetError> {
        match rows {
            Rows::And(parts) => {
                let mut kept = Kept::All;
                for part in parts {
                    kept = both(kept, self.kept(part)?);
                    if matches!(kept, Kept::None) {
                        break;
                    }
                }
                Ok(kept)
            }
            Rows::Or(parts) => {
                let mut kept = Kept::None;
                for part in parts {
                    kept = either(kept, self.kept(part)?);
                    if matches!(kept, Kept::All) {
                        break;
                    }
                }
                Ok(kept)
            }
            Rows::Leaf(condition) => {
                let (at, bit) = self.conditions[*condition];
                let leaf = &mut self.read[at];
                if leaf.rows.is_none() {
                    leaf.rows = Some(leaf.bits(self.group)?);
                }
                Ok(match &leaf.rows {
                    Some(Bits::Rows(rows)) => Kept::Some(rows.iter().map(|row| row & bit != 0).collect()),
                    Some(Bits::None) => Kept::None,
                    Some(Bits::Unknown) | None => Kept::All,
                })
            }
        }
    }
}

impl Leaf {
    fn bits(&self, group: RowGroup<'_>) -> Result<Bits, ParquetError> {
        let physical_type = group.column_type(self.leaf);
        let met = |value: Option<&[u8]>| {
            let holds = self.conditions.iter().enumerate();
            holds.fold(0, |met, (bit, condition)| {
                met | u8::from(condition.holds(physical_type, value)) << bit
            })
        };
        let Some(chunk) = Chunk::open(group.file, group.group, self.leaf, group.read, met)? else {
            return Ok(Bits::Unknown);
        };
        if let Some(mut kinds) = chunk.kinds()
            && kinds.all(|met| met == 0)
        {
            return Ok(Bits::None);
        }
        Ok(match chunk.slots()? {
            None => Bits::Unknown,
            Some(slots) => Bits::Rows(slots.of_rows(group.file.groups()[group.group].rows as usize)),
        })
    }
}

fn both(one: Kept, other: Kept) -> Kept {
    match (one, other) {
        (Kept::None, _) | (_, Kept::None) => Kept::None,
        (Kept::All, kept) | (kept, Kept::All) => kept,
        (Kept::Some(mut rows), Kept::Some(others)) => {
            rows.iter_mut().zip(&others).for_each(|(row, other)| *row &= other);
            Kept::Some(rows)
        }
    }
}

fn either(one: Kept, other: Kept) -> Kept {
    match (one, other) {
        (Kept::All, _) | (_, Kept::All) => Kept::All,
        (Kept::None, kept) | (kept, Kept::None) => kept,
        (Kept::Some(mut rows), Kept::Some(others)) => {
            rows.iter_mut().zip(&others).for_each(|(row, other)| *row |= other);
            Kept::Some(rows)
        }
    }
}

/// Converts a value in Parquet's plain encoding to the units of [`Prune::Range`]. `None` if the type is no number, or
/// if the value has the wrong length.
fn number(physical_type: Type, value: &[u8]) -> Option<i128> {
    match physical_type {
        Type::INT32 => Some(i32::from_le_bytes(value.try_into().ok()?).into()),
        Type::INT64 => Some(i64::from_le_bytes(value.try_into().ok()?).into()),
        Type::FIXED_LEN_BYTE_ARRAY => decimal(value),
        _ => None,
    }
}

fn ranges(rows: &[bool]) -> Ranges {
    let mut ranges = Ranges::default();
    let mut at = 0;
    while let Some(ahead) = rows[at..].iter().position(|kept| *kept) {
        let from = at + ahead;
        at = rows[from..]
            .iter()
            .position(|kept| !kept)
            .map_or(rows.len(), |length| from + length);
        ranges.push(from as u32..at as u32);
    }
    ranges
}
