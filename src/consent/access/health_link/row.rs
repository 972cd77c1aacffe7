//! The table of health links. Their files are in another table.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::About;
use crate::consent::states::named;
use crate::consent::store::Store;
use crate::fhir::hidden::shown;

named! {
    /// What a link's file contains.
    LinkContent {
        /// The patient's International Patient Summary.
        Summary = "summary",
        /// All of the patient's records as a SMART Health Card.
        Card = "health-card",
    }
}

impl LinkContent {
    /// Returns the media type of the decrypted file.
    pub fn media_type(self) -> &'static str {
        match self {
            LinkContent::Summary => "application/fhir+json",
            LinkContent::Card => "application/smart-health-card",
        }
    }

    /// Returns the FHIR version of the file. `None` if the file is a health card.
    pub fn fhir_version(self) -> Option<&'static str> {
        match self {
            LinkContent::Summary => Some("4.0.1"),
            LinkContent::Card => None,
        }
    }
}

/// A health link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthLink {
    /// The id by which the patient manages the link. It reveals nothing about the address.
    pub id: String,
    /// The consent whose records the link's file contains.
    pub consent: String,
    /// What the link's file contains.
    pub content: LinkContent,
    /// The patient's name for the link.
    pub label: Option<String>,
    /// Whether the link's address returns the file itself (flag `U`).
    pub is_direct: bool,
    /// Whether the link requires a passcode (flag `P`).
    pub has_passcode: bool,
    /// How many more wrong passcodes are allowed. The last one ends the link.
    pub attempts: u32,
    /// When the link was made, in seconds since the Unix epoch.
    pub created_at: i64,
    /// When the link expires.
    pub expires_at: i64,
    /// How many recipients' requests for the file were recorded.
    pub uses: u64,
    /// When the newest request of a recipient for the file was recorded.
    pub used_at: Option<i64>,
    /// The name that the newest recipient of the file gave.
    pub recipient: Option<String>,
}

const LINK: &str =
    "SELECT id, consent, content, label, direct, passcode IS NOT NULL, attempts, created_at, expires_at, uses,
                    used_at, recipient FROM health_link";

impl HealthLink {
    /// Returns the link's flag: `P`, `U` or none. The specification does not allow both, so a link with a passcode has
    /// only `P`.
    pub fn flag(&self) -> &'static str {
        if self.has_passcode {
            "P"
        } else if self.is_direct {
            "U"
        } else {
            ""
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<HealthLink> {
        Ok(HealthLink {
            id: row.get(0)?,
            consent: row.get(1)?,
            content: row.get(2)?,
            label: row.get::<_, Option<String>>(3)?.as_deref().map(shown),
            is_direct: row.get(4)?,
            has_passcode: row.get(5)?,
            attempts: row.get(6)?,
            created_at: row.get(7)?,
            expires_at: row.get(8)?,
            uses: row.get(9)?,
            used_at: row.get(10)?,
            recipient: row.get::<_, Option<String>>(11)?.as_deref().map(shown),
        })
    }

    /// Returns the link with this id, even if it has expired.
    pub(super) fn get(connection: &Connection, id: &str) -> Result<Option<HealthLink>, Error> {
        let mut statement = connection.prepare_cached(&format!("{LINK} WHERE id = ?1"))?;
        Ok(statement.query_row([id], HealthLink::read).optional()?)
    }

    /// Returns the unexpired link at this address.
    pub(super) fn at(connection: &Connection, address: &str, now: i64) -> Result<Option<HealthLink>, Error> {
        let sql = format!("{LINK} WHERE address = ?1 AND expires_at > ?2");
        let mut statement = connection.prepare_cached(&sql)?;
        let found = statement.query_row(params![secret::digest(address), now], HealthLink::read);
        Ok(found.optional()?)
    }

    pub(super) fn about(&self) -> About<'_> {
        About {
            consent: Some(&self.consent),
            ..About::default()
        }
    }
}

/// The repository of SMART Health Links and their files.
#[derive(Clone, Copy, Debug)]
pub struct HealthLinks<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl HealthLinks<'_> {
    /// Returns the unexpired links of a consent, newest first.
    pub fn of_consent(&self, consent: &str) -> Result<Vec<HealthLink>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| {
            let sql = format!("{LINK} WHERE consent = ?1 AND expires_at > ?2 ORDER BY created_at DESC, id");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![consent, now], HealthLink::read)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the link at this address. `None` if it never existed or has ended.
    pub fn at(&self, address: &str) -> Result<Option<HealthLink>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| HealthLink::at(connection, address, now))
    }
}
