//! The insurance that a person has at a time.

use uuid::Uuid;

use super::calendar::Moment;

/// One coverage of a person.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct Insurance {
    pub(in crate::sandbox) id: Uuid,
    /// The index of the payer in `Nation::payers`. `plan` is the index of the plan among this payer's plans.
    pub(in crate::sandbox) payer: usize,
    pub(in crate::sandbox) plan: usize,
    pub(in crate::sandbox) from: Moment,
    pub(in crate::sandbox) until: Option<Moment>,
}
