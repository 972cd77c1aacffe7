//! What the service issues besides tokens: health cards, health links and access to the console.

/// Issued health cards without their content, and the versions of their revocation lists.
pub(super) const HEALTH_CARDS: &str = "
    -- How often the revocation list of a key of cards was changed.
    ALTER TABLE es256_key ADD COLUMN crl_version INTEGER NOT NULL DEFAULT 1;

    CREATE TABLE health_card (
        -- The name by which it is revoked.
        rid TEXT PRIMARY KEY,
        -- It may be gone: a card stays revoked.
        consent TEXT NOT NULL,
        -- What signed it; NULL until it is signed.
        kid TEXT REFERENCES es256_key (kid),
        issued_at INTEGER NOT NULL,
        revoked_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX health_card_by_consent ON health_card (consent) WHERE revoked_at IS NULL;
    CREATE INDEX revoked_health_card ON health_card (kid, revoked_at, rid) WHERE revoked_at IS NOT NULL;
    CREATE INDEX unsigned_health_card ON health_card (issued_at) WHERE kid IS NULL;
";

/// SMART Health Links. Only the holders of a link can decrypt its file.
pub(super) const HEALTH_LINKS: &str = "
    CREATE TABLE health_link (
        id TEXT PRIMARY KEY,
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        -- SHA-256 of the random part of its address.
        address BLOB NOT NULL UNIQUE,
        content TEXT NOT NULL,
        label TEXT,
        -- Whether the address is the file itself.
        direct INTEGER NOT NULL CHECK (direct = 0 OR passcode IS NULL),
        -- Rounds of PBKDF2, salt and hash.
        passcode BLOB,
        -- How many wrong passcodes it stands.
        attempts INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        uses INTEGER NOT NULL DEFAULT 0,
        used_at INTEGER,
        -- Who used it last, in their own words.
        recipient TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX health_link_by_consent ON health_link (consent);
    CREATE INDEX health_link_by_end ON health_link (expires_at);

    -- By itself, so that counting a use does not write it again.
    CREATE TABLE health_link_file (
        link TEXT PRIMARY KEY REFERENCES health_link (id) ON DELETE CASCADE,
        -- Encrypted under a key that is not here.
        jwe TEXT NOT NULL
    ) STRICT;

    -- Files that are deleted and may still stand in the write-ahead log.
    CREATE TABLE health_link_gone (id INTEGER PRIMARY KEY) STRICT;
    CREATE TRIGGER health_link_file_goes AFTER DELETE ON health_link_file
        BEGIN INSERT INTO health_link_gone (id) VALUES (NULL); END;
";

/// The tokens and sessions of console users. Secrets are stored as SHA-256 digests. Times are seconds since the Unix
/// epoch.
pub(super) const CONSOLE: &str = "
    -- Made on the command line, used up by signing in.
    CREATE TABLE console_token (
        digest BLOB PRIMARY KEY,
        -- Whose it is, as the audit log names them.
        name TEXT NOT NULL,
        until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- What a browser's cookie stands for.
    CREATE TABLE console_session (
        digest BLOB PRIMARY KEY,
        name TEXT NOT NULL,
        began_at INTEGER NOT NULL,
        touched_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";
