//! Codes and canonicals: the systems, forms and versions, what drug codes mean, and three-valued logic.

pub(super) mod drugs;
pub(super) mod ndc;
pub mod systems;
pub(super) mod truth;
pub(super) mod version;
