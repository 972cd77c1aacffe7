//! The data of a dispense. The MedicationDispense and the pharmacy's claim are both written from it.

use uuid::Uuid;

use super::super::super::output::datatypes::Link;
use super::super::super::people::calendar::Moment;
use super::super::super::people::directory::Organization;
use super::drugs::Drug;

/// One dispense of a drug.
pub(in crate::sandbox) struct Dispensing<'a> {
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) prescription: Uuid,
    pub(in crate::sandbox) drug: &'static Drug,
    pub(in crate::sandbox) pharmacy: &'a Organization,
    pub(in crate::sandbox) prescriber: Link<'a>,
    pub(in crate::sandbox) at: Moment,
    /// The number of earlier dispenses for the same prescription. It is 0 for the first dispense.
    pub(in crate::sandbox) refill: i64,
}
