//! The results of sync jobs.

/// For each reference, the number of syncs in which its target was missing. The step `ERASURE_STEPS` replaces this
/// table.
pub(super) const DANGLING: &str = "
    CREATE TABLE dangling_reference (
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        -- A hash of the record and the reference.
        reference INTEGER NOT NULL,
        syncs INTEGER NOT NULL,
        PRIMARY KEY (consent, reference)
    ) STRICT, WITHOUT ROWID;
";

/// What each rule of normalization did in each sync.
pub(super) const RULE_COUNTS: &str = "
    CREATE TABLE sync_rule (
        job TEXT NOT NULL REFERENCES sync_job (id) ON DELETE CASCADE,
        rule TEXT NOT NULL,
        made INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        -- What the rule applies to and left as it is.
        unaltered INTEGER NOT NULL,
        dangling INTEGER NOT NULL,
        PRIMARY KEY (job, rule)
    ) STRICT, WITHOUT ROWID;
";

/// Jobs that ask again for what failed in another job.
pub(super) const RETRIES: &str = "
    -- 1 for the first retry after a sync, and so on; 0 for a sync. A retry has the cause of its sync.
    ALTER TABLE sync_job ADD COLUMN retry INTEGER NOT NULL DEFAULT 0;
    -- Whether a retry asks for it again.
    ALTER TABLE sync_missing ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE sync_retry (
        job TEXT NOT NULL REFERENCES sync_job (id) ON DELETE CASCADE,
        type TEXT NOT NULL,
        -- The id of a record at the source. Empty for the search for all records of the type.
        source_id TEXT NOT NULL,
        PRIMARY KEY (job, type, source_id)
    ) STRICT, WITHOUT ROWID;
";

/// The further ids under which sources know a person.
pub(super) const LINKED_PATIENTS: &str = "
    CREATE TABLE linked_patient (
        authorization TEXT NOT NULL REFERENCES patient_authorization (id) ON DELETE CASCADE,
        -- The id of a Patient at the source that the source links to the authorization's Patient.
        source_id TEXT NOT NULL,
        -- Our id of this Patient. That of the authorization's Patient if the source has two ids for it.
        patient TEXT NOT NULL,
        PRIMARY KEY (authorization, source_id)
    ) STRICT, WITHOUT ROWID;
";

/// The forms in which a source writes its FHIR base.
pub(super) const SOURCE_BASES: &str = "
    -- Other bases under which the source shows its records, as a JSON array.
    ALTER TABLE endpoint ADD COLUMN bases TEXT;
";

/// The counts of attachments of each sync.
pub(super) const ATTACHMENT_COUNTS: &str = "
    CREATE TABLE sync_attachment (
        job TEXT PRIMARY KEY REFERENCES sync_job (id) ON DELETE CASCADE,
        fetched INTEGER NOT NULL,
        kept INTEGER NOT NULL,
        at_source INTEGER NOT NULL,
        missing INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";
