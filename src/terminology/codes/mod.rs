//! What codes and canonicals look like, and what drug codes belong to.

pub(super) mod drugs;
pub(super) mod ndc;
pub mod systems;
pub(super) mod truth;
pub(super) mod version;
