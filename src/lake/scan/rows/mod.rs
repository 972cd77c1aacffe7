//! The scan of a table: which files, row groups and columns it reads, and which batches it yields.

pub(super) mod clip;
pub(super) mod exec;
pub(super) mod order;
pub(super) mod partition;
pub(super) mod provider;
pub(super) mod request;
pub(super) mod resolved;
pub(super) mod row_group;
pub(super) mod share;
pub(super) mod span;
pub(super) mod top_k;
