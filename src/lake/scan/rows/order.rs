//! Orders row groups by the best sort key that they may have. Also skips rows that can no longer be among the first
//! rows of the sort.
//!
//! The caller defines the order, and names the leaves that have the numbers. The dynamic filter of the sort above the
//! scan states the bound that a row must reach.

use std::fmt;
use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;

use super::super::cache::file::OpenFile;
use super::super::conditions::pruning::Extent;
use super::super::conditions::ranges::Ranges;

/// A function that reads a bound from the current expression of a dynamic filter: the minimum that a row must have, or
/// the maximum if the order ascends. It returns `None` while there is no bound.
pub type Threshold = fn(&Arc<dyn PhysicalExpr>) -> Option<i64>;

/// An order of rows: each row is ordered by one number. Rows without a number come last.
#[derive(Clone)]
pub struct Order {
    /// Whether the largest number comes first.
    pub descending: bool,
    /// The leaves that have the numbers. A row's number is in one of these leaves.
    pub reaches: Vec<Reach>,
    /// The function that reads the bound from the sort's dynamic filter.
    pub threshold: Threshold,
}

/// The place of the number that orders a row. Leaves are dotted paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The number is in this leaf, whose type is int64 or timestamp.
    In(Arc<str>),
    /// The number is in the first leaf. The second leaf is in the same struct. A row that has a value only in the
    /// second leaf comes before all rows with numbers.
    Open(Arc<str>, Arc<str>),
    /// A row with a value in this leaf may be anywhere in the order.
    Unknown(Arc<str>),
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order")
            .field("descending", &self.descending)
            .field("reaches", &self.reaches)
            .finish_non_exhaustive()
    }
}

/// An order and the dynamic filter of its sort.
#[derive(Clone, Debug)]
pub(in crate::lake::scan) struct Sorted {
    pub(in crate::lake::scan) order: Order,
    pub(in crate::lake::scan) filter: Arc<dyn PhysicalExpr>,
}

/// The best place that some rows may have in an order. A greater value is a better place, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lake::scan) enum Best {
    /// No row has a number, so all rows come last.
    Missing,
    /// No row is better than this number. If the order ascends, the number is negated.
    Number(i128),
    /// Nothing is known about the numbers, so a row may come first.
    Unbounded,
}

impl Order {
    /// Returns the best place that the rows of a row group may have.
    pub(in crate::lake::scan) fn best(&self, file: &OpenFile, group: usize) -> Best {
        let of = |reach: &Reach| self.reach(reach, |leaf| Extent::of_group(file, group, leaf));
        self.reaches.iter().map(of).max().unwrap_or(Best::Unbounded)
    }

    /// Returns the best place that rows may have if their numbers are where `reach` says. `extent` returns the
    /// statistics of a leaf, or `None` if the file lacks the leaf.
    fn reach<'a>(&self, reach: &Reach, extent: impl Fn(&str) -> Option<Extent<'a>>) -> Best {
        let is_empty = |leaf: &str| extent(leaf).is_none_or(|extent| extent.is_empty());
        match reach {
            Reach::Unknown(leaf) if is_empty(leaf) => Best::Missing,
            Reach::Unknown(_) => Best::Unbounded,
            Reach::In(leaf) => extent(leaf).map_or(Best::Missing, |extent| self.first(&extent)),
            Reach::Open(leaf, beside) => match extent(leaf) {
                Some(extent) if extent.is_complete() => self.first(&extent),
                None if is_empty(beside) => Best::Missing,
                _ => Best::Unbounded,
            },
        }
    }

    fn first(&self, extent: &Extent<'_>) -> Best {
        match extent.numbers() {
            _ if extent.is_empty() => Best::Missing,
            Some((_, max)) if self.descending => Best::Number(max),
            // The lowest number is the best. Negate it, so that a better number is greater.
            Some((min, _)) => Best::Number(-min),
            None => Best::Unbounded,
        }
    }
}

impl Sorted {
    /// Returns the bound that a row must reach now to be among the first rows of the sort. `None` if the sort has no
    /// bound yet.
    pub(in crate::lake::scan) fn needed(&self) -> Option<Best> {
        let dynamic = self.filter.downcast_ref::<DynamicFilterPhysicalExpr>()?;
        let number = (self.order.threshold)(&dynamic.current().ok()?)?;
        let number = i128::from(number);
        Some(Best::Number(if self.order.descending { number } else { -number }))
    }

    /// Returns the rows of a row group that may reach the bound `needed`.
    pub(in crate::lake::scan) fn rows(&self, file: &OpenFile, group: usize, needed: Best) -> Ranges {
        if self.order.best(file, group) < needed {
            return Ranges::default();
        }
        let rows = file.groups()[group].rows;
        let mut kept = Ranges::default();
        for reach in &self.order.reaches {
            let (Reach::In(leaf) | Reach::Open(leaf, _) | Reach::Unknown(leaf)) = reach;
            let whole = self.order.reach(reach, |leaf| Extent::of_group(file, group, leaf));
            if whole < needed {
                continue;
            }
            // For `Reach::Open`, use only the pages of the first leaf. The pages of the two leaves need not end at the
            // same rows.
            let pages = match reach {
                Reach::In(_) | Reach::Open(..) => {
                    file.leaf(leaf).and_then(|leaf| Some((leaf, file.pages(group, leaf)?)))
                }
                Reach::Unknown(_) => None,
            };
            let Some((leaf, pages)) = pages else {
                return Ranges::all(rows);
            };
            let mut good = Ranges::default();
            for (at, page) in pages.iter().enumerate() {
                let end = pages.get(at + 1).map_or(rows, |next| next.first_row_index as u32);
                let best = self
                    .order
                    .reach(reach, |_| Some(Extent::of_page(file, group, leaf, at)));
                if best >= needed {
                    good.push(page.first_row_index as u32..end);
                }
            }
            kept = kept.union(&good);
        }
        kept
    }
}
