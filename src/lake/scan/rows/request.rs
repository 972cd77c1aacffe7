//! The request for a scan.

use super::order::Order;
use super::span::Span;
use crate::fhir::storage::LeafSet;

/// A scan of a table's rows. Conditions on them are the filters of the plan that it is part of.
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// The columns that the plan reads, those of its filters among them.
    pub leaves: LeafSet,
    /// Whether the text of a decimal is wanted only where the number beside it is missing: `value` beside
    /// `value__number`.
    pub numbers_suffice: bool,
    /// The order in which a sort above the scan takes rows.
    pub order: Option<Order>,
    /// Only rows of these owners. `None` for all owners that the scope shows.
    pub owners: Option<Vec<i64>>,
    /// Only rows of this part of the table.
    pub span: Span,
    /// Whether each row costs so much computation that even few rows should use every processor.
    pub is_costly: bool,
}

/// The rows in a person's batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// All rows that a patient scope shows: its own and the shared rows they refer to. For a scope without a patient:
    /// none.
    OfScope,
    /// The rows of one owner, as far as the scope shows them.
    Owner(i64),
    /// The rows of either owner, as far as the scope shows them.
    Either(i64, i64),
}
