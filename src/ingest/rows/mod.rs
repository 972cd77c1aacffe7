//! Turns normalized resources into rows of the lake.

pub(super) mod block;
pub(super) mod buffer;
pub(super) mod chains;
pub(super) mod encode;
pub(super) mod owners;
pub(super) mod spill;
pub(super) mod store;
pub(super) mod unfit;
