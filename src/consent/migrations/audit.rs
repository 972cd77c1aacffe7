//! The archive of the audit log.

/// Tables for the archive, which has one file per month.
pub(super) const AUDIT_ARCHIVE: &str = "
    CREATE TABLE audit_archive (
        -- As 2026-11: the file's name.
        month TEXT PRIMARY KEY,
        -- The newest line of the file.
        newest INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- The lines that this very transaction has written to a file. Empty between transactions.
    CREATE TABLE audit_archived (id INTEGER PRIMARY KEY) STRICT;
    DROP TRIGGER audit_is_not_shortened;
    CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
        WHEN OLD.id NOT IN (SELECT id FROM audit_archived)
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
";
