//! The directory: what the service knows of endpoints, and what patients see and search.

/// The addresses to which an endpoint's links to further pages may lead although they are outside its FHIR base.
pub(super) const ENDPOINT_PAGES: &str = "
    CREATE TABLE endpoint_page (
        endpoint TEXT NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
        address TEXT NOT NULL,
        PRIMARY KEY (endpoint, address)
    ) STRICT, WITHOUT ROWID;
";

/// What the service finds out about endpoints. Also the missing records and the fetched records of each sync.
pub(super) const SOURCE_DIALECTS: &str = "
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

/// Adds the token endpoint of an endpoint. The service may send the endpoint's client secret to the origin of this
/// address, in addition to the origin of the FHIR base. Earlier releases sent the secret to the token endpoint of the
/// SMART configuration. So for existing endpoints this address stays allowed.
pub(super) const TOKEN_ENDPOINT: &str = "
    ALTER TABLE endpoint ADD COLUMN token_endpoint TEXT;
    UPDATE endpoint SET token_endpoint = json_extract(configuration, '$.token_endpoint')
        WHERE client_secret IS NOT NULL AND json_valid(configuration);
";

/// The profiles of applications and organizations, which patients see.
pub(super) const PROFILES: &str = "
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

/// The data for the search of the directory: the operator's rank, an index over the times of grants, and a count of
/// changes. A process compares this count with an earlier one to notice that its search index is outdated.
pub(super) const DIRECTORY_SEARCH: &str = "
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

/// Registration access tokens (RFC 7592). Each manages the registration of one application for one mode.
pub(super) const REGISTRATION_ACCESS: &str = "
    CREATE TABLE registration_access (
        -- A newer token has a larger number.
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        digest BLOB NOT NULL UNIQUE,
        application TEXT NOT NULL REFERENCES application (id) ON DELETE CASCADE,
        mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX registration_access_by_application ON registration_access (application, mode);
";

#[cfg(test)]
mod tests {
    use super::super::run::{before, migrate};

    #[test]
    fn a_secret_of_an_existing_store_goes_on_to_where_it_went() {
        let mut connection = before(super::TOKEN_ENDPOINT);
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
