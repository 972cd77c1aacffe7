//! Included resources: `_include` and `_revinclude`.

pub(super) mod by_id;
pub(super) mod include;
pub(super) mod included;
pub(super) mod referred;
pub(super) mod stages;
