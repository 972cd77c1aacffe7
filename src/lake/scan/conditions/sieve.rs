//! Decides a [`Prune`] row by row, on the dictionary codes and levels of its leaf. This helps if page statistics keep
//! many rows but few match: ranges of numbers and moments, and presence. For rows that it drops, no column is decoded
//! and no predicate evaluated.
//!
//! Like statistics, it keeps every row that may match. For texts and booleans it decides no more than statistics do.

use std::sync::Arc;

use parquet::basic::Type;
use parquet::errors::ParquetError;

use super::super::cache::file::{OpenFile, ReadBytes};
use super::super::decode::chunk::Chunk;
use super::pruning::{Extent, decimal, prune};
use super::ranges::Ranges;
use crate::columns::conditions::Prune;

/// Whether filtering a scan's row groups pays.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lake::scan) struct RowPruning {
    asked: usize,
    kept: usize,
}

impl RowPruning {
    /// If few rows are left, decoding them is cheaper than reading the codes of all rows. A filter that has kept most
    /// rows so far will keep most of the next ones too.
    pub(in crate::lake::scan) fn pays(&self, rows: usize, of: u32) -> bool {
        rows * MIN_SHARE >= of as usize && self.kept * 2 <= self.asked
    }

    /// The rows for which the condition may hold. `None` if the codes cannot decide.
    pub(in crate::lake::scan) fn keep(
        &mut self,
        rows: &Ranges,
        condition: &Prune,
        file: &Arc<OpenFile>,
        group: usize,
        read: &Arc<ReadBytes>,
    ) -> Result<Option<Ranges>, ParquetError> {
        let group = RowGroup { file, group, read };
        let left = match group.kept(condition)? {
            Kept::All => return Ok(None),
            Kept::None => Ranges::default(),
            Kept::Some(kept) => rows.intersect(&ranges(&kept)),
        };
        self.asked += rows.count();
        self.kept += left.count();
        Ok(Some(left))
    }
}

/// Apply the filter only if at least one row in this many is left in the row group.
const MIN_SHARE: usize = 8;

/// Rows that a condition keeps.
enum Kept {
    All,
    None,
    /// The rows marked `true`.
    Some(Vec<bool>),
}

struct RowGroup<'a> {
    file: &'a Arc<OpenFile>,
    group: usize,
    read: &'a Arc<ReadBytes>,
}

impl RowGroup<'_> {
    fn kept(&self, condition: &Prune) -> Result<Kept, ParquetError> {
        match self.by_statistics(condition) {
            Some(true) => return Ok(Kept::All),
            Some(false) => return Ok(Kept::None),
            None => {}
        }
        match condition {
            Prune::And(parts) => {
                let mut kept = Kept::All;
                for part in parts {
                    kept = both(kept, self.kept(part)?);
                    if matches!(kept, Kept::None) {
                        break;
                    }
                }
                Ok(kept)
            }
            Prune::Or(parts) => {
                let mut kept = Kept::None;
                for part in parts {
                    kept = either(kept, self.kept(part)?);
                    if matches!(kept, Kept::All) {
                        break;
                    }
                }
                Ok(kept)
            }
            Prune::Range { leaf, from, to } => self.of_leaf(leaf, |ty, value| {
                // A text that is no number may stand for any number.
                number(ty, value)
                    .is_none_or(|number| from.is_none_or(|from| from <= number) && to.is_none_or(|to| number <= to))
            }),
            Prune::Present { leaf } => self.of_leaf(leaf, |_, _| true),
            _ => Ok(Kept::All),
        }
    }

    /// The rows with a value that meets this condition.
    fn of_leaf(&self, path: &str, holds: impl Fn(Type, &[u8]) -> bool) -> Result<Kept, ParquetError> {
        let Some(leaf) = self.file.leaf(path) else {
            return Ok(Kept::All);
        };
        let ty = self.file.metadata().row_group(self.group).column(leaf).column_type();
        let allowed = |value: Option<&[u8]>| value.is_some_and(|value| holds(ty, value));
        let Some(chunk) = Chunk::open(self.file, self.group, leaf, self.read, allowed)? else {
            return Ok(Kept::All);
        };
        if let Some(mut kinds) = chunk.kinds()
            && kinds.all(|holds| !holds)
        {
            return Ok(Kept::None);
        }
        Ok(match chunk.slots()? {
            None => Kept::All,
            Some(slots) => Kept::Some(slots.of_rows(self.file.groups()[self.group].rows as usize)),
        })
    }

    /// Whether all rows are kept, or none. `None` if the rows themselves must be checked.
    fn by_statistics(&self, condition: &Prune) -> Option<bool> {
        match condition {
            Prune::Keep => Some(true),
            Prune::Nothing => Some(false),
            Prune::And(parts) => {
                let parts = || parts.iter().map(|part| self.by_statistics(part));
                match parts().any(|part| part == Some(false)) {
                    true => Some(false),
                    false => parts().all(|part| part == Some(true)).then_some(true),
                }
            }
            Prune::Or(parts) => {
                let parts = || parts.iter().map(|part| self.by_statistics(part));
                match parts().any(|part| part == Some(true)) {
                    true => Some(true),
                    false => parts().all(|part| part == Some(false)).then_some(false),
                }
            }
            Prune::Text { .. } | Prune::Flag { .. } => Some(!prune(self.file, self.group, condition).is_empty()),
            Prune::Range { leaf, .. } | Prune::Present { leaf } => {
                let extent = Extent::of_group(self.file, self.group, leaf);
                match (extent, condition) {
                    _ if prune(self.file, self.group, condition).is_empty() => Some(false),
                    (None, _) => Some(true),
                    (Some(extent), Prune::Range { .. }) if extent.numbers().is_none() => Some(true),
                    (Some(extent), Prune::Present { .. }) if extent.is_everywhere() => Some(true),
                    _ => None,
                }
            }
        }
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

/// A plain value in the units of [`Prune::Range`].
fn number(ty: Type, value: &[u8]) -> Option<i128> {
    match ty {
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
