//! What the matches of a page bring along.

pub(super) mod include;
pub(super) mod included;
pub(super) mod referred;
pub(super) mod stages;
