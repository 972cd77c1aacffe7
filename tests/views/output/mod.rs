//! Values in the formats that views write.

pub(super) mod fidelity;
pub(super) mod formats;
pub(super) mod typed;
