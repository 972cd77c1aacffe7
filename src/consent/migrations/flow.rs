//! Later changes of flows and tokens.

/// Adds the time at which a browser first opened a flow, and the counts of flows that no browser opened.
pub(super) const UNBEGUN_FLOWS: &str = "
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

/// Sets the usage to ONE_TIME where the source gave no refresh token, except for IAL1. Adds the column for a source's
/// message about a failed first sync.
pub(super) const USAGE_BY_GRANT: &str = "
    -- Issues of the source's OperationOutcome, sealed JSON.
    ALTER TABLE sync_job ADD COLUMN outcome BLOB;
    CREATE INDEX authorization_errored ON patient_authorization (id) WHERE state = 'ERRORED';
    -- A source without a refresh token was never asked again. Its records are promised for a day.
    UPDATE patient_authorization SET usage = 'ONE_TIME', data_until = exchanged_at + 86400
        WHERE usage = 'MULTIPLE' AND refreshable = 0 AND type <> 'IAL1' AND data_erased_at IS NULL
          AND state IN ('AUTHORIZED', 'EXCHANGED', 'ERRORED');
";

/// Adds the public client to each refresh token, because a public client may use its refresh token without sending its
/// client id.
pub(super) const PUBLIC_REFRESH: &str = "
    -- The publishable key of a client that got the token without its secret key; NULL if it showed the secret, and for older tokens.
    ALTER TABLE refresh_token ADD COLUMN public_client TEXT REFERENCES client (id);
";

/// Moves unencrypted sessions into a table of their own. After this step, `flow::clear_sessions` encrypts them.
pub(super) const SEALED_SESSIONS: &str = "
    CREATE TABLE clear_flow_session (
        digest BLOB PRIMARY KEY REFERENCES flow_session (digest) ON DELETE CASCADE,
        request TEXT NOT NULL,
        progress TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO clear_flow_session SELECT digest, request, progress FROM flow_session;
    INSERT INTO setting (name, value) SELECT 'clear_sessions', 'yes' WHERE EXISTS (SELECT 1 FROM flow_session);
    -- The request that began it and where it stands: sealed JSON.
    ALTER TABLE flow_session ADD COLUMN sealed BLOB;
    ALTER TABLE flow_session DROP COLUMN request;
    ALTER TABLE flow_session DROP COLUMN progress;
";

#[cfg(test)]
mod tests {
    use super::super::run::{before, migrate};

    /// Rows for a store before the step `USAGE_BY_GRANT`.
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
        let mut connection = before(super::USAGE_BY_GRANT);
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
}
