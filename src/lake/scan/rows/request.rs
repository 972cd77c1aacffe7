//! What a caller asks of a scan.

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
    /// Whether so much is computed of each row that even few of them are worth every processor.
    pub is_costly: bool,
}

/// Whose rows a person's batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// All that a patient scope shows: its own rows and the shared rows they refer to. Of a scope without a patient:
    /// nothing.
    OfScope,
    /// The rows of one owner, as far as the scope shows them.
    Owner(i64),
    /// The rows of either owner, as far as the scope shows them.
    Either(i64, i64),
}
