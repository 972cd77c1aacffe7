//! From sources and files into the lake.

pub(super) mod import;
pub(super) mod normalize;
pub(super) mod shred;
pub(super) mod sync;
