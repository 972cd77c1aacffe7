//! Plans of views: what they read, and how they run.

pub(super) mod plans;
pub(super) mod pruning;
pub(super) mod several;
pub(super) mod stream;
pub(super) mod traveling;
