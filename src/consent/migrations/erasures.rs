//! Erasures and their receipts.

/// Counts missing targets of references for each authorization instead of each consent. Splits an erasure into two
/// steps: the removal of the rows, and the normalization of the person's remaining records.
pub(super) const ERASURE_STEPS: &str = "
    DROP TABLE dangling_reference;
    CREATE TABLE dangling (
        authorization TEXT PRIMARY KEY REFERENCES patient_authorization (id) ON DELETE CASCADE,
        -- Hashes of what is not there in order, 8 bytes each, little-endian, each followed by a byte: in how many syncs
        -- in a row.
        counts BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- When the lake had no such rows any more. An erasure is done once the rest of the person's records is normalized.
    ALTER TABLE erasure ADD COLUMN gone_at INTEGER;
    -- How often that failed since, and when it is tried again.
    ALTER TABLE erasure ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE erasure ADD COLUMN not_before INTEGER;
";

/// Erasure jobs: who requested an erasure, its evidence and its receipt.
pub(super) const ERASURE_JOBS: &str = "
    -- All rows of a consent that were asked for together. It names nobody and is kept.
    CREATE TABLE erasure_job (
        id TEXT PRIMARY KEY,
        -- NULL for the operator's command.
        consent TEXT,
        application TEXT NOT NULL,
        mode TEXT NOT NULL,
        cause TEXT NOT NULL,
        actor TEXT NOT NULL,
        -- The request that asked.
        request TEXT,
        asked_at INTEGER NOT NULL,
        done_at INTEGER,
        -- A JWS in its compact form.
        receipt TEXT
    ) STRICT;
    CREATE INDEX erasure_job_open ON erasure_job (id) WHERE done_at IS NULL;
    CREATE INDEX erasure_job_by_consent ON erasure_job (consent);

    -- NULL for what was asked for before there were receipts.
    ALTER TABLE erasure ADD COLUMN job TEXT REFERENCES erasure_job (id);
    -- Of imported rows: the Patient they are filed under, until they are gone.
    ALTER TABLE erasure ADD COLUMN patient TEXT;
    -- What the lake has erased, JSON, until the receipt is signed.
    ALTER TABLE erasure ADD COLUMN evidence TEXT;
    CREATE INDEX erasure_by_job ON erasure (job);
    -- When the patient had all of its records erased.
    ALTER TABLE consent ADD COLUMN expunged_at INTEGER;
";
