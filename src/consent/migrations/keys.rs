//! The keys that sign tokens, health cards and receipts.

/// Prepares the column of the RSA keys for encrypted keys. After this step, `key_rows` encrypts the existing keys.
pub(super) const SEALED_KEYS: &str = "
    ALTER TABLE signing_key RENAME COLUMN pkcs8 TO sealed;
    INSERT INTO setting (name, value) SELECT 'clear_keys', 'yes' WHERE EXISTS (SELECT 1 FROM signing_key);
";

/// P-256 keys, which sign health cards and receipts. A retired key loses its private half and keeps its public half.
pub(super) const ES256_KEYS: &str = "
    CREATE TABLE es256_key (
        kid TEXT PRIMARY KEY,
        purpose TEXT NOT NULL CHECK (purpose IN ('health-card', 'receipt')),
        -- The public point, in base64url.
        x TEXT NOT NULL,
        y TEXT NOT NULL,
        -- PKCS #8.
        sealed BLOB,
        created_at INTEGER NOT NULL,
        retired_at INTEGER,
        CHECK ((sealed IS NULL) = (retired_at IS NOT NULL))
    ) STRICT;
    CREATE UNIQUE INDEX es256_key_that_signs ON es256_key (purpose) WHERE retired_at IS NULL;
";
