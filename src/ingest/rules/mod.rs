//! Applies the rules of [`normalize`](crate::normalize) to imported records. The rules work on one unit at a time. A
//! unit is an owner: one consent of a sync, or one patient of an import.
//!
//! While the input is read, its records are sorted by ranges of owners ([`Gathered`]): in memory up to a limit, then in
//! a temporary file. Then all cores process one range after the other. For each unit, a survey sees its records, and
//! the owner's rows of the lake that these records do not replace. Then the unit's plan is made. It decides how these
//! records and rows change, and which resources are generated. The import writes the records, the changed rows and the
//! generated resources. It deletes resources that an earlier run generated and this run does not. All of this becomes
//! one snapshot. A thread needs memory for one range or, if a unit is large, for the facts of its records.

mod asked;
mod edited;
mod gather;
mod kept;
mod normalization;
mod observer;
mod placed;
mod ranges;
mod shared;
mod stowed;
mod unit;
mod work;

pub(super) use gather::{Gathered, Gatherer};
pub(super) use kept::Shelf;
pub use normalization::Normalization;
pub use observer::{Change, Observer};
pub(super) use ranges::{Scene, normalize};
