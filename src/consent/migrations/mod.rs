//! The store's schema, as numbered steps that only ever grow. `PRAGMA user_version` is the number of steps taken.
//!
//! Each file has the steps of one subject. The table below has their order.

mod audit;
mod base;
mod consent_flow;
mod directory;
mod erasures;
mod flow;
mod given_out;
mod keys;
mod run;
mod syncs;

pub(super) use run::migrate;
#[cfg(test)]
pub(super) use run::{migrate_before_sealed_keys, migrate_before_sealed_sessions};

/// One script per version. A released script never changes.
const STEPS: &[&str] = &[
    base::BASE,
    consent_flow::CONSENT_FLOW,
    directory::ENDPOINT_PAGES,
    keys::SEALED_KEYS,
    flow::UNBEGUN_FLOWS,
    audit::AUDIT_ARCHIVE,
    flow::USAGE_BY_GRANT,
    flow::PUBLIC_REFRESH,
    directory::SOURCE_DIALECTS,
    syncs::DANGLING,
    syncs::RULE_COUNTS,
    erasures::ERASURE_STEPS,
    directory::TOKEN_ENDPOINT,
    keys::ES256_KEYS,
    given_out::HEALTH_CARDS,
    given_out::HEALTH_LINKS,
    erasures::ERASURE_JOBS,
    syncs::ATTACHMENT_COUNTS,
    given_out::CONSOLE,
    directory::PROFILES,
    directory::DIRECTORY_SEARCH,
    flow::SEALED_SESSIONS,
];
