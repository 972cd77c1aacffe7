//! The store's schema, as numbered steps that only ever grow. `PRAGMA user_version` is the number of steps taken.
//!
//! Each file has the steps of one subject. `steps` has their order.

mod audit;
mod base;
mod consent_flow;
mod directory;
mod erasures;
mod flow;
mod given_out;
mod keys;
mod run;
mod steps;
mod syncs;

pub(super) use run::migrate;
#[cfg(test)]
pub(super) use run::{migrate_before_sealed_keys, migrate_before_sealed_sessions};
