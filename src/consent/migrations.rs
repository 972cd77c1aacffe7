//! The store's schema, as numbered steps that only ever grow. `PRAGMA user_version` says how many were taken.

use rusqlite::{Connection, TransactionBehavior};

use super::error::Error;

/// One script per version; a released script never changes.
const STEPS: &[&str] = &[
    "
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
",
    CONSENT_FLOW,
    ENDPOINT_PAGES,
    SEALED_KEYS,
    UNBEGUN_FLOWS,
    AUDIT_ARCHIVE,
    USAGE_BY_GRANT,
    PUBLIC_REFRESH,
    SOURCE_DIALECTS,
    DANGLING,
    RULE_COUNTS,
    ERASURE_STEPS,
    TOKEN_ENDPOINT,
    ES256_KEYS,
    HEALTH_CARDS,
    HEALTH_LINKS,
    ERASURE_JOBS,
    ATTACHMENT_COUNTS,
    CONSOLE,
    PROFILES,
    DIRECTORY_SEARCH,
];

/// Patients' consents, their purposes and their results. Times are seconds since the Unix epoch, secrets are SHA-256
/// digests, and values that the service must send to a source are encrypted.
const CONSENT_FLOW: &str = "
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

/// The addresses of sources that page outside of their FHIR base.
const ENDPOINT_PAGES: &str = "
    CREATE TABLE endpoint_page (
        endpoint TEXT NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
        address TEXT NOT NULL,
        PRIMARY KEY (endpoint, address)
    ) STRICT, WITHOUT ROWID;
";

/// Signing keys are encrypted. `key_rows` encrypts clear ones after this step.
const SEALED_KEYS: &str = "
    ALTER TABLE signing_key RENAME COLUMN pkcs8 TO sealed;
    INSERT INTO setting (name, value) SELECT 'clear_keys', 'yes' WHERE EXISTS (SELECT 1 FROM signing_key);
";

/// Flows that nobody begins are counted, not kept.
const UNBEGUN_FLOWS: &str = "
    -- When a browser first showed a page of the flow. Whether it did in sessions of earlier releases is not known.
    ALTER TABLE flow_session ADD COLUMN begun_at INTEGER;
    UPDATE flow_session SET begun_at = created_at;
    CREATE INDEX flow_session_ended ON flow_session (ended_at) WHERE ended_at IS NOT NULL;

    -- By day since the Unix epoch. A day that is over goes into the audit log.
    CREATE TABLE unbegun_flow (
        day INTEGER NOT NULL,
        application TEXT NOT NULL REFERENCES application (id) ON DELETE CASCADE,
        flows INTEGER NOT NULL,
        PRIMARY KEY (day, application)
    ) STRICT, WITHOUT ROWID;
";

/// Old lines of the audit log move to files, one per month.
const AUDIT_ARCHIVE: &str = "
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

/// The usage follows the source's grant. A failed first sync keeps the source's message with its job.
const USAGE_BY_GRANT: &str = "
    -- Issues of the source's OperationOutcome, sealed JSON.
    ALTER TABLE sync_job ADD COLUMN outcome BLOB;
    CREATE INDEX authorization_errored ON patient_authorization (id) WHERE state = 'ERRORED';
    -- A source without a refresh token was never asked again. Its records are promised for a day.
    UPDATE patient_authorization SET usage = 'ONE_TIME', data_until = exchanged_at + 86400
        WHERE usage = 'MULTIPLE' AND refreshable = 0 AND type <> 'IAL1' AND data_erased_at IS NULL
          AND state IN ('AUTHORIZED', 'EXCHANGED', 'ERRORED');
";

/// Refresh tokens of public clients, which may come back without naming their client.
const PUBLIC_REFRESH: &str = "
    -- The publishable key of a client that got the token without its secret key; NULL if it showed the secret, and for older tokens.
    ALTER TABLE refresh_token ADD COLUMN public_client TEXT REFERENCES client (id);
";

/// The dialects of sources, and the missing records of their syncs.
const SOURCE_DIALECTS: &str = "
    -- The _count that the source takes, 0 where it takes none; NULL before the first sync.
    ALTER TABLE endpoint ADD COLUMN page_size INTEGER;
    -- How it takes the service's secret: 'basic', 'plain-basic' or 'post'; NULL where that is not known.
    ALTER TABLE endpoint ADD COLUMN client_auth TEXT;
    -- What its CapabilityStatement says, JSON, and when it was read.
    ALTER TABLE endpoint ADD COLUMN statement TEXT;
    ALTER TABLE endpoint ADD COLUMN statement_at INTEGER;
    -- Origin of a next page that was not followed.
    ALTER TABLE endpoint ADD COLUMN elsewhere TEXT;
    -- The OAuth error that patients last came back with.
    ALTER TABLE endpoint ADD COLUMN last_error TEXT;
    ALTER TABLE endpoint ADD COLUMN last_error_at INTEGER;

    -- What a job could not have.
    CREATE TABLE sync_missing (
        job TEXT NOT NULL REFERENCES sync_job (id) ON DELETE CASCADE,
        ordinal INTEGER NOT NULL,
        type TEXT NOT NULL,
        -- As category=laboratory; NULL for all of the type.
        part TEXT,
        reason TEXT NOT NULL
            CHECK (reason IN ('not-served', 'forbidden', 'failed', 'not-found', 'not-asked', 'not-taken')),
        status INTEGER,
        records INTEGER,
        detail TEXT NOT NULL,
        PRIMARY KEY (job, ordinal)
    ) STRICT, WITHOUT ROWID;

    -- What it brought.
    CREATE TABLE sync_count (
        job TEXT NOT NULL REFERENCES sync_job (id) ON DELETE CASCADE,
        type TEXT NOT NULL,
        records INTEGER NOT NULL,
        PRIMARY KEY (job, type)
    ) STRICT, WITHOUT ROWID;
";

/// References that lead nowhere, from sync to sync.
const DANGLING: &str = "
    CREATE TABLE dangling_reference (
        consent TEXT NOT NULL REFERENCES consent (id) ON DELETE CASCADE,
        -- A hash of the record and the reference.
        reference INTEGER NOT NULL,
        syncs INTEGER NOT NULL,
        PRIMARY KEY (consent, reference)
    ) STRICT, WITHOUT ROWID;
";

/// The counts of normalization's rules in each sync.
const RULE_COUNTS: &str = "
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

/// The counts of attachments of each sync.
const ATTACHMENT_COUNTS: &str = "
    CREATE TABLE sync_attachment (
        job TEXT PRIMARY KEY REFERENCES sync_job (id) ON DELETE CASCADE,
        fetched INTEGER NOT NULL,
        kept INTEGER NOT NULL,
        at_source INTEGER NOT NULL,
        missing INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// The profiles of applications and organizations for patients.
const PROFILES: &str = "
    CREATE TABLE application_profile (
        application TEXT PRIMARY KEY REFERENCES application (id) ON DELETE CASCADE,
        purpose TEXT,
        privacy TEXT,
        terms TEXT,
        logo BLOB,
        logo_media TEXT,
        -- Another one for each logo.
        logo_digest TEXT
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE organization_profile (
        organization TEXT PRIMARY KEY REFERENCES organization (id) ON DELETE CASCADE,
        place TEXT,
        logo BLOB,
        logo_media TEXT,
        logo_digest TEXT
    ) STRICT, WITHOUT ROWID;
";

/// What the search of the directory goes by: the operator's rank, lately granted consents, and a count of changes, so
/// that every process sees when its index is out of date.
const DIRECTORY_SEARCH: &str = "
    ALTER TABLE organization_profile ADD COLUMN rank INTEGER CHECK (rank > 0);
    CREATE INDEX patient_authorization_by_grant ON patient_authorization (authorized_at, endpoint, consent)
        WHERE authorized_at IS NOT NULL;

    CREATE TABLE directory_change (
        id INTEGER PRIMARY KEY CHECK (id = 0),
        number INTEGER NOT NULL
    ) STRICT;
    INSERT INTO directory_change (id, number) VALUES (0, 0);
    CREATE TRIGGER organization_comes AFTER INSERT ON organization
        BEGIN UPDATE directory_change SET number = number + 1; END;
    CREATE TRIGGER organization_changes AFTER UPDATE ON organization
        BEGIN UPDATE directory_change SET number = number + 1; END;
    CREATE TRIGGER organization_goes AFTER DELETE ON organization
        BEGIN UPDATE directory_change SET number = number + 1; END;
    CREATE TRIGGER organization_profile_comes AFTER INSERT ON organization_profile
        BEGIN UPDATE directory_change SET number = number + 1; END;
    CREATE TRIGGER organization_profile_changes AFTER UPDATE OF place, rank ON organization_profile
        BEGIN UPDATE directory_change SET number = number + 1; END;
    CREATE TRIGGER organization_profile_goes AFTER DELETE ON organization_profile
        BEGIN UPDATE directory_change SET number = number + 1; END;
    CREATE TRIGGER endpoint_comes AFTER INSERT ON endpoint
        BEGIN UPDATE directory_change SET number = number + 1; END;
    -- Its SMART configuration is taken down anew at every departure, and searched by nobody.
    CREATE TRIGGER endpoint_changes AFTER UPDATE OF organization, name, mode, label, type, status ON endpoint
        BEGIN UPDATE directory_change SET number = number + 1; END;
    CREATE TRIGGER endpoint_goes AFTER DELETE ON endpoint
        BEGIN UPDATE directory_change SET number = number + 1; END;
";

/// References that lead nowhere are counted for each source by itself, and an erasure has two steps.
const ERASURE_STEPS: &str = "
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

/// The token endpoint to which an endpoint's secret may be sent, besides the origin of its FHIR base. Earlier releases
/// sent it wherever the configuration said, and operators added endpoints knowing that.
const TOKEN_ENDPOINT: &str = "
    ALTER TABLE endpoint ADD COLUMN token_endpoint TEXT;
    UPDATE endpoint SET token_endpoint = json_extract(configuration, '$.token_endpoint')
        WHERE client_secret IS NOT NULL AND json_valid(configuration);
";

/// Who requested an erasure, and its evidence.
const ERASURE_JOBS: &str = "
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

/// Keys that sign health cards and receipts. A former key has no private half, and its public half stays.
const ES256_KEYS: &str = "
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

/// Issued health cards, without their content.
const HEALTH_CARDS: &str = "
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

/// SMART Health Links, each with a file that only its holders can decrypt.
const HEALTH_LINKS: &str = "
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

/// The console's users. Secrets are SHA-256 digests, times are seconds since the Unix epoch.
const CONSOLE: &str = "
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

/// Brings the store to the newest version, in one transaction that a second process waits for.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let known = STEPS.len() as i64;
    let found = version(connection)?;
    if found > known {
        return Err(Error::TooNew { found, known });
    }
    if found == known {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let taken = version(&transaction)?;
    for step in STEPS.iter().skip(usize::try_from(taken).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    Ok(())
}

/// Takes the steps of an earlier release only, whose signing keys lay in the clear.
#[cfg(test)]
pub(super) fn migrate_before_sealed_keys(connection: &Connection) {
    let known = STEPS.iter().take_while(|step| **step != SEALED_KEYS);
    for step in known.clone() {
        connection.execute_batch(step).unwrap();
    }
    connection
        .pragma_update(None, "user_version", known.count() as i64)
        .unwrap();
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a store from the release before usage followed grants.
    const BEFORE: &str = "
        INSERT INTO application (id, name, created_at) VALUES ('app', 'app', 0);
        INSERT INTO organization (id, name, type, created_at) VALUES ('o', 'o', 'PAYER', 0);
        INSERT INTO endpoint (id, organization, name, mode, label, type, refreshable, status, resources, fhir_base, client_id,
                              scope, identifier_system, created_at)
            VALUES ('e', 'o', 'e', 'test', '[]', 'OAUTH', 1, 'LIVE', '[]', 'https://e.example', 'c', '', 'urn:e', 0);
        INSERT INTO consent (id, application, mode, made_by, created_at) VALUES ('c', 'app', 'test', 'oauth', 0);
        INSERT INTO patient_authorization (id, consent, ordinal, type, state, usage, endpoint, created_at, updated_at,
                                           exchanged_at, refreshable) VALUES
            ('lasting', 'c', 0, 'OAUTH', 'EXCHANGED', 'MULTIPLE', 'e', 0, 0, 100, 1),
            ('once', 'c', 1, 'OAUTH', 'EXCHANGED', 'MULTIPLE', 'e', 0, 0, 100, 0),
            ('waiting', 'c', 2, 'OAUTH', 'AUTHORIZED', 'MULTIPLE', 'e', 0, 0, NULL, 0),
            ('located', 'c', 3, 'IAL1', 'EXCHANGED', 'MULTIPLE', 'e', 0, 0, 100, 0),
            ('ended', 'c', 4, 'OAUTH', 'REVOKED', 'MULTIPLE', 'e', 0, 0, 100, 0);
    ";

    #[test]
    fn usage_of_an_existing_store_follows_what_was_granted() {
        let mut connection = Connection::open_in_memory().unwrap();
        let before = STEPS.iter().position(|step| *step == USAGE_BY_GRANT).unwrap();
        for step in &STEPS[..before] {
            connection.execute_batch(step).unwrap();
        }
        connection.pragma_update(None, "user_version", before as i64).unwrap();
        connection.execute_batch(BEFORE).unwrap();
        migrate(&mut connection).unwrap();
        let sql = "SELECT id, usage, data_until FROM patient_authorization ORDER BY ordinal";
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let rows: Vec<(String, String, Option<i64>)> = rows.unwrap().map(Result::unwrap).collect();
        let expected = [
            ("lasting", "MULTIPLE", None),
            ("once", "ONE_TIME", Some(86_500)),
            ("waiting", "ONE_TIME", None),
            ("located", "MULTIPLE", None),
            ("ended", "MULTIPLE", None),
        ];
        let expected = expected.map(|(id, usage, until)| (id.to_owned(), usage.to_owned(), until));
        assert_eq!(rows, expected);
    }
    #[test]
    fn a_secret_of_an_existing_store_goes_on_to_where_it_went() {
        let mut connection = Connection::open_in_memory().unwrap();
        let before = STEPS.iter().position(|step| *step == TOKEN_ENDPOINT).unwrap();
        for step in &STEPS[..before] {
            connection.execute_batch(step).unwrap();
        }
        connection.pragma_update(None, "user_version", before as i64).unwrap();
        let endpoint = |id: &str, secret: &str, configuration: &str| {
            format!(
                "INSERT INTO endpoint (id, organization, name, mode, label, type, refreshable, status, resources, fhir_base,
                                       configuration, client_id, client_secret, scope, identifier_system, created_at)
                 VALUES ('{id}', 'o', '{id}', 'test', '[]', 'OAUTH', 1, 'LIVE', '[]', 'https://{id}.example', {configuration},
                         'c', {secret}, '', 'urn:e', 0);"
            )
        };
        let known = r#"'{"token_endpoint": "https://auth.example/token"}'"#;
        let organization = "INSERT INTO organization (id, name, type, created_at) VALUES ('o', 'o', 'PAYER', 0);";
        let rows = [
            organization.to_owned(),
            endpoint("secret", "x'00'", known),
            endpoint("public", "NULL", known),
            endpoint("unread", "x'00'", "NULL"),
        ];
        connection.execute_batch(&rows.concat()).unwrap();
        migrate(&mut connection).unwrap();
        let mut statement = connection
            .prepare("SELECT id, token_endpoint FROM endpoint ORDER BY id")
            .unwrap();
        let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let found: Vec<(String, Option<String>)> = found.unwrap().map(Result::unwrap).collect();
        let expected = [
            ("public", None),
            ("secret", Some("https://auth.example/token")),
            ("unread", None),
        ];
        let expected = expected.map(|(id, address)| (id.to_owned(), address.map(str::to_owned)));
        assert_eq!(found, expected);
    }
}
