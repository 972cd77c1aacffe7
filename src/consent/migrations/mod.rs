//! The store's schema as a list of steps. New steps are only added at the end. `PRAGMA user_version` is the number of
//! steps that a store has taken.
//!
//! Each file has the steps of one subject. The file `steps` has their order.

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
mod webhooks;

pub(super) use run::migrate;
#[cfg(test)]
pub(super) use run::{migrate_before_sealed_keys, migrate_before_sealed_sessions};
