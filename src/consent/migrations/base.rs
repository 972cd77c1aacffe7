//! The first version of the schema: applications, their clients, the operator's consents and the keys of access
//! tokens.

/// The tables that all later steps build on.
pub(super) const BASE: &str = "
    CREATE TABLE setting (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE application (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- An application's identity in one mode: the publishable key that tokens carry as client_id.
    CREATE TABLE client (
        id TEXT PRIMARY KEY,
        application TEXT NOT NULL REFERENCES application (id),
        mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX client_by_application ON client (application, mode);

    -- What a patient token's `sub` stands for. `made_by` is 'operator' for consents made on the command line for
    -- imported records.
    CREATE TABLE consent (
        id TEXT PRIMARY KEY,
        application TEXT NOT NULL REFERENCES application (id),
        mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
        made_by TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- The Patient resources of a consent, the primary one at ordinal 0.
    CREATE TABLE consent_patient (
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        ordinal INTEGER NOT NULL,
        patient TEXT NOT NULL,
        PRIMARY KEY (consent, ordinal)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX consent_patient_by_patient ON consent_patient (patient);

    CREATE TABLE signing_key (
        kid TEXT PRIMARY KEY,
        pkcs8 BLOB NOT NULL,
        created_at INTEGER NOT NULL,
        retired_at INTEGER
    ) STRICT;

    CREATE TABLE revoked_token (
        jti TEXT PRIMARY KEY,
        expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";
