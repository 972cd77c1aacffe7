//! The request for a scan, and the choice of rows for a person's batch.

use super::order::Order;
use super::span::Span;
use crate::fhir::storage::LeafSet;

/// The request for a scan of a table's rows. The conditions on the rows are the plan's filters.
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// The leaves that the plan reads, including those of its filters.
    pub leaves: LeafSet,
    /// Whether numbers are enough for the plan. If so, the scan leaves out the text of a decimal, such as `value`, in
    /// row groups in which every decimal has a number, such as `value__number`.
    pub numbers_suffice: bool,
    /// The order in which a sort above the scan puts rows.
    pub order: Option<Order>,
    /// The owners whose rows are read. `None` for all owners that the scope shows.
    pub owners: Option<Vec<i64>>,
    /// The part of the table whose rows are read.
    pub span: Span,
    /// Whether the plan computes so much for each row that it is worth spreading even few rows over all processors.
    pub is_costly: bool,
}

/// Which rows the batch of one person has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// All rows that a patient scope shows: its own rows and the shared rows to which they refer. For a scope without a
    /// patient, the batch is empty.
    OfScope,
    /// The rows of one owner that the scope shows.
    Owner(i64),
    /// The rows of two owners that the scope shows. Rows that are filed under one patient may have two owners.
    Either(i64, i64),
}
