//! The request for a scan.

use super::order::Order;
use super::span::Span;
use crate::fhir::storage::LeafSet;

/// A scan of a table's rows. The plan's filters are the conditions on them.
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// The columns that the plan reads, including those of its filters.
    pub leaves: LeafSet,
    /// Whether a decimal's text is needed only if its number is missing: `value` beside `value__number`.
    pub numbers_suffice: bool,
    /// The order in which a sort above the scan puts rows.
    pub order: Option<Order>,
    /// Only rows of these owners. `None` for all owners that the scope shows.
    pub owners: Option<Vec<i64>>,
    /// Only rows of this part of the table.
    pub span: Span,
    /// Whether computing a row is so expensive that even few rows use every processor.
    pub is_costly: bool,
}

/// The rows in a person's batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// All rows that a patient scope shows: its own rows and the shared rows they refer to. A scope without a patient
    /// has none.
    OfScope,
    /// The rows of one owner that the scope shows.
    Owner(i64),
    /// The rows of two owners that the scope shows.
    Either(i64, i64),
}
