//! The consent flow: sessions, consents, sources, tokens, jobs, erasures and the audit log. Also the directory.

/// The tables of consents and of the directory. Times are seconds since the Unix epoch. Secrets that the service only
/// compares are stored as SHA-256 digests. Values that the service must send to a source are encrypted.
pub(super) const CONSENT_FLOW: &str = "
    ALTER TABLE application ADD COLUMN sync_frequency TEXT NOT NULL DEFAULT 'off'
        CHECK (sync_frequency IN ('off', 'daily', 'weekly', 'monthly'));
    -- What dynamic registration was told (RFC 7591), as JSON; NULL for applications made by the operator.
    ALTER TABLE application ADD COLUMN registration TEXT;

    -- A client without a secret key is public.
    ALTER TABLE client ADD COLUMN secret BLOB;
    ALTER TABLE client ADD COLUMN retired_at INTEGER;
    CREATE UNIQUE INDEX client_by_secret ON client (secret) WHERE secret IS NOT NULL;

    CREATE TABLE redirect_uri (
        application TEXT NOT NULL REFERENCES application (id) ON DELETE CASCADE,
        uri TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (application, uri)
    ) STRICT, WITHOUT ROWID;

    -- Web origins whose pages may hold the link component.
    CREATE TABLE origin (
        application TEXT NOT NULL REFERENCES application (id) ON DELETE CASCADE,
        origin TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (application, origin)
    ) STRICT, WITHOUT ROWID;

    -- Initial access tokens of RFC 7591: who has one may register an application of live mode, once.
    CREATE TABLE registration_token (
        digest BLOB PRIMARY KEY,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        used_at INTEGER
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE organization (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        note TEXT NOT NULL DEFAULT '',
        type TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE endpoint (
        id TEXT PRIMARY KEY,
        organization TEXT NOT NULL REFERENCES organization (id),
        name TEXT NOT NULL UNIQUE,
        mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
        -- Display names, a JSON array of strings.
        label TEXT NOT NULL,
        -- How patients of this endpoint authorize.
        type TEXT NOT NULL CHECK (type IN ('OAUTH', 'CREDENTIALS', 'IAL2', 'IAL1')),
        refreshable INTEGER NOT NULL,
        refresh_valid_for INTEGER,
        max_auth_period INTEGER,
        status TEXT NOT NULL CHECK (status IN ('AVAILABLE', 'USER_VALIDATED', 'LIVE', 'UNAVAILABLE')),
        -- FHIR resource types, a JSON array of strings.
        resources TEXT NOT NULL,
        fhir_base TEXT NOT NULL,
        -- The SMART configuration as it was last read, JSON.
        configuration TEXT,
        client_id TEXT NOT NULL,
        client_secret BLOB,
        -- Space-separated scopes that the source is asked for.
        scope TEXT NOT NULL,
        -- The `system` of the identifiers that resources of this source get.
        identifier_system TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        checked_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX endpoint_by_base ON endpoint (mode, fhir_base);

    -- Who verifies identities (IAL2), by OpenID Connect, and where a verified or self-attested person's facilities are looked up.
    CREATE TABLE identity_provider (
        code TEXT NOT NULL,
        mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
        name TEXT NOT NULL,
        issuer TEXT NOT NULL,
        client_id TEXT NOT NULL,
        client_secret BLOB,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (code, mode)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE record_locator (
        mode TEXT PRIMARY KEY CHECK (mode IN ('live', 'test')),
        url TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- Consents of the operator, for imported records, are usable from the start and have no owner of their own.
    ALTER TABLE consent ADD COLUMN state TEXT NOT NULL DEFAULT 'EXCHANGED'
        CHECK (state IN ('CREATED', 'AUTHORIZED', 'EXCHANGED', 'ABANDONED', 'REVOKED'));
    ALTER TABLE consent ADD COLUMN client TEXT REFERENCES client (id);
    ALTER TABLE consent ADD COLUMN external_id TEXT;
    -- What the application asked for.
    ALTER TABLE consent ADD COLUMN usage TEXT NOT NULL DEFAULT 'MULTIPLE' CHECK (usage IN ('ONE_TIME', 'MULTIPLE'));
    -- Space-separated scopes granted to the application.
    ALTER TABLE consent ADD COLUMN scope TEXT NOT NULL DEFAULT '';
    -- Under which all rows of its syncs lie.
    ALTER TABLE consent ADD COLUMN owner INTEGER;
    ALTER TABLE consent ADD COLUMN updated_at INTEGER;
    -- When the patient was last seen in the flow.
    ALTER TABLE consent ADD COLUMN touched_at INTEGER;
    -- When the code or public token that waits to be exchanged ends.
    ALTER TABLE consent ADD COLUMN code_until INTEGER;
    -- When the newest refresh token ends.
    ALTER TABLE consent ADD COLUMN refresh_until INTEGER;
    CREATE UNIQUE INDEX consent_by_owner ON consent (owner) WHERE owner IS NOT NULL;
    CREATE INDEX consent_by_application ON consent (application, mode, created_at, id);
    CREATE INDEX consent_by_user ON consent (application, mode, external_id);

    CREATE TABLE patient_authorization (
        id TEXT PRIMARY KEY,
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        -- The primary one has the lowest that was authorized.
        ordinal INTEGER NOT NULL,
        type TEXT NOT NULL CHECK (type IN ('OAUTH', 'CREDENTIALS', 'IAL2', 'IAL1')),
        state TEXT NOT NULL CHECK (state IN ('CREATED', 'AUTHORIZING', 'AUTHORIZED', 'EXCHANGED', 'ERRORED',
                                             'ABANDONED', 'BOUNCED', 'REVOKED', 'EXPIRED')),
        -- What was resolved: MULTIPLE only where asked for and where the endpoint is refreshable.
        usage TEXT NOT NULL CHECK (usage IN ('ONE_TIME', 'MULTIPLE')),
        endpoint TEXT NOT NULL REFERENCES endpoint (id),
        identity_provider TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        authorized_at INTEGER,
        exchanged_at INTEGER,
        revoked_at INTEGER,
        expired_at INTEGER,
        -- The id of its Patient here, and at the source.
        patient TEXT,
        source_patient TEXT,
        -- Space-separated scopes asked of the source and granted by it.
        scope_requested TEXT,
        scope_granted TEXT,
        -- Whether the source gave a refresh token.
        refreshable INTEGER NOT NULL DEFAULT 0,
        -- When the access token was last refreshed over the link API.
        refreshed_at INTEGER,
        -- When the source's maximum authorization period ends.
        max_auth_until INTEGER,
        -- When the data of a ONE_TIME authorization goes, and when it was asked to.
        data_until INTEGER,
        data_erased_at INTEGER,
        UNIQUE (consent, ordinal)
    ) STRICT, WITHOUT ROWID;

    -- Authorization codes and public tokens: single use, kept until their refusal has told of every reuse.
    CREATE TABLE authorization_code (
        digest BLOB PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('code', 'public_token')),
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        client TEXT NOT NULL REFERENCES client (id),
        redirect_uri TEXT,
        challenge TEXT,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        used_at INTEGER,
        -- The family of refresh tokens that the exchange began.
        family TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX authorization_code_by_consent ON authorization_code (consent);

    CREATE TABLE refresh_token (
        digest BLOB PRIMARY KEY,
        family TEXT NOT NULL,
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        surface TEXT NOT NULL CHECK (surface IN ('oauth', 'link')),
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        used_at INTEGER,
        revoked_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX refresh_token_by_family ON refresh_token (family);
    CREATE INDEX refresh_token_by_consent ON refresh_token (consent);

    -- The patient tokens that were given out, so that a revocation reaches them.
    CREATE TABLE access_token (
        jti TEXT PRIMARY KEY,
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        family TEXT,
        expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX access_token_by_consent ON access_token (consent);
    CREATE INDEX access_token_by_family ON access_token (family);

    -- A patient's browser on its way through the flow, known by the digest of its cookie.
    CREATE TABLE flow_session (
        digest BLOB PRIMARY KEY,
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        -- The request that began it and where it stands, both JSON.
        request TEXT NOT NULL,
        progress TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        ended_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX flow_session_by_consent ON flow_session (consent);

    -- A redirect to a source or identity provider, known by the digest of its `state`.
    CREATE TABLE attempt (
        digest BLOB PRIMARY KEY,
        session BLOB NOT NULL REFERENCES flow_session (digest) ON DELETE CASCADE,
        -- NULL for an identity verification.
        authorization TEXT REFERENCES patient_authorization (id) ON DELETE CASCADE,
        endpoint TEXT,
        identity_provider TEXT,
        -- PKCE verifier and nonce, sealed.
        sealed BLOB NOT NULL,
        created_at INTEGER NOT NULL,
        used_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX attempt_by_session ON attempt (session);

    -- What the service presents to a source, sealed JSON.
    CREATE TABLE credential (
        authorization TEXT PRIMARY KEY REFERENCES patient_authorization (id) ON DELETE CASCADE,
        sealed BLOB NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE sync_job (
        id TEXT PRIMARY KEY,
        authorization TEXT NOT NULL REFERENCES patient_authorization (id) ON DELETE CASCADE,
        cause TEXT NOT NULL CHECK (cause IN ('exchange', 'refresh', 'schedule')),
        state TEXT NOT NULL CHECK (state IN ('CREATED', 'WAITING', 'ACTIVE', 'COMPLETED', 'FAILED')),
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        started_at INTEGER,
        finished_at INTEGER,
        -- How often it was begun, and before when it is not begun again.
        attempts INTEGER NOT NULL DEFAULT 0,
        not_before INTEGER,
        -- Why it failed, in words that tell no contents.
        failure TEXT
    ) STRICT;
    CREATE INDEX sync_job_by_authorization ON sync_job (authorization, created_at);
    CREATE INDEX sync_job_open ON sync_job (state) WHERE state IN ('CREATED', 'WAITING', 'ACTIVE');

    -- Rows that have to leave the lake.
    CREATE TABLE erasure (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        consent TEXT NOT NULL,
        -- NULL for all of the consent's.
        authorization TEXT,
        mode TEXT NOT NULL,
        application TEXT NOT NULL,
        owner INTEGER NOT NULL,
        reason TEXT NOT NULL,
        asked_at INTEGER NOT NULL,
        done_at INTEGER
    ) STRICT;
    CREATE INDEX erasure_open ON erasure (id) WHERE done_at IS NULL;

    CREATE TABLE audit (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        -- Who did it: 'patient', 'application', 'operator', 'service'.
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        application TEXT,
        consent TEXT,
        authorization TEXT,
        -- What else there is to know, in words that tell no contents and no secrets.
        detail TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE INDEX audit_by_consent ON audit (consent);
    CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
    CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

    CREATE TABLE applicant (
        id TEXT PRIMARY KEY,
        received_at INTEGER NOT NULL,
        -- The application as it was sent, JSON.
        body TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
";
