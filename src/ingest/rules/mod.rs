//! Applies the rules of [`normalize`](crate::normalize) to imported records. There is one unit for each owner: one
//! consent of a sync, or one filed patient of an import.
//!
//! While the input is read, its records are sorted by ranges of owners ([`Gathered`]): in memory up to a limit, then in
//! a temporary file. Then all cores work on one range after the other. A survey sees each unit's records, and then the
//! owner's rows of the lake that they do not replace. The resulting plan is applied to the records before they are
//! written, and to the rows. Generated resources are stored beside them. Resources that an earlier run generated and
//! this one does not are deleted, in the same snapshot. Memory is bounded by a range, or by the facts of one large
//! unit.

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
