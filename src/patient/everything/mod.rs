//! `Patient/[id]/$everything`: a patient's records as they are, page by page or as a whole.
//!
//! Decides the meaning of the operation's parameters. R4 defines `$everything` at
//! `OperationDefinition/Patient-everything`.

mod asked;
mod dates;

pub use asked::{Asked, PARAMETERS, Subject};
pub use dates::{CLINICAL_DATES, ClinicalDate};
