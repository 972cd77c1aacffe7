//! What attackers try with flows, cookies and the store.

pub(super) mod filled;
pub(super) mod flow;
pub(super) mod rogue;
pub(super) mod thief;
