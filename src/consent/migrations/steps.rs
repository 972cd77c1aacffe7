//! The order of the steps.

use super::{audit, base, consent_flow, directory, erasures, flow, given_out, keys, syncs, webhooks};

/// The SQL script of each step. A released script never changes.
pub(super) const STEPS: &[&str] = &[
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
    syncs::RETRIES,
    directory::REGISTRATION_ACCESS,
    webhooks::WEBHOOKS,
    syncs::LINKED_PATIENTS,
    syncs::SOURCE_BASES,
];
