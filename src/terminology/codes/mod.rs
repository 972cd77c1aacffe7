//! The forms of codes and canonicals, and the kinds of drug codes.

pub(super) mod drugs;
pub(super) mod ndc;
pub mod systems;
pub(super) mod truth;
pub(super) mod version;
