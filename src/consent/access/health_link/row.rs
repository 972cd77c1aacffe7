//! A stored link, without its file.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::About;
use crate::consent::states::named;
use crate::consent::store::Store;

named! {
    /// The content of a link.
    LinkContent {
        /// The patient's International Patient Summary.
        Summary = "summary",
        /// All of the patient's records as a SMART Health Card.
        Card = "health-card",
    }
}

impl LinkContent {
    /// The media type of the decrypted file.
    pub fn media_type(self) -> &'static str {
        match self {
            LinkContent::Summary => "application/fhir+json",
            LinkContent::Card => "application/smart-health-card",
        }
    }

    /// The FHIR version of the file, if it is FHIR.
    pub fn fhir_version(self) -> Option<&'static str> {
        match self {
            LinkContent::Summary => Some("4.0.1"),
            LinkContent::Card => None,
        }
    }
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthLink {
    /// The id by which its patient manages it. It reveals nothing about the address.
    pub id: String,
    /// The consent of the records.
    pub consent: String,
    /// The link's content.
    pub content: LinkContent,
    /// The patient's label for it.
    pub label: Option<String>,
    /// Whether its address is the file itself (flag `U`).
    pub is_direct: bool,
    /// Whether it requires a passcode (flag `P`).
    pub has_passcode: bool,
    /// How many wrong passcodes are allowed before it ends.
    pub attempts: u32,
    /// Seconds since the Unix epoch, like all times.
    pub created_at: i64,
    /// When it expires.
    pub expires_at: i64,
    /// How often its file was served.
    pub uses: u64,
    /// When it was last used.
    pub used_at: Option<i64>,
    /// The recipient's own name.
    pub recipient: Option<String>,
}

const LINK: &str =
    "SELECT id, consent, content, label, direct, passcode IS NOT NULL, attempts, created_at, expires_at, uses,
                    used_at, recipient FROM health_link";

impl HealthLink {
    /// Its flags, in alphabetical order.
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
            label: row.get(3)?,
            is_direct: row.get(4)?,
            has_passcode: row.get(5)?,
            attempts: row.get(6)?,
            created_at: row.get(7)?,
            expires_at: row.get(8)?,
            uses: row.get(9)?,
            used_at: row.get(10)?,
            recipient: row.get(11)?,
        })
    }

    /// The link with this id, even if it has expired.
    pub(super) fn get(connection: &Connection, id: &str) -> Result<Option<HealthLink>, Error> {
        let mut statement = connection.prepare_cached(&format!("{LINK} WHERE id = ?1"))?;
        Ok(statement.query_row([id], HealthLink::read).optional()?)
    }

    /// The link at this address, unless it has ended.
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

/// SMART Health Links with their files.
#[derive(Clone, Copy, Debug)]
pub struct HealthLinks<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl HealthLinks<'_> {
    /// The active links of a consent, newest first.
    pub fn of_consent(&self, consent: &str) -> Result<Vec<HealthLink>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| {
            let sql = format!("{LINK} WHERE consent = ?1 AND expires_at > ?2 ORDER BY created_at DESC, id");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![consent, now], HealthLink::read)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The link at this address. `None` if it never existed or has ended.
    pub fn at(&self, address: &str) -> Result<Option<HealthLink>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| HealthLink::at(connection, address, now))
    }
}
