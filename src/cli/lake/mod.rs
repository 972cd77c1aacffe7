//! Commands that manage a data folder: import, check, compact, seal, erase, back up and restore.

pub(super) mod backup;
pub(super) mod check;
pub(super) mod compact;
pub(super) mod erase;
pub(super) mod generate;
pub(super) mod import;
pub(super) mod info;
pub(super) mod lake_key;
pub(super) mod lake_scope;
pub(super) mod restore;
pub(super) mod seal;
pub(super) mod wait;
