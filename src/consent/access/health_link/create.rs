//! Making a link.

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::passcode::{self, PASSCODE_ATTEMPTS};
use super::row::{HealthLink, HealthLinks, LinkContent};
use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::{Actor, note};
use crate::consent::record::{Authorization, Consent, Origin};
use crate::consent::states::ConsentState;

/// The maximum number of links of a consent.
pub const LINKS_AT_ONCE: u32 = 20;

/// The maximum lifetime of a new link, and the records for its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTerms {
    /// When the consent or the records of one of its sources end. `None` if there is no such time.
    pub until: Option<i64>,
    /// The authorizations with stored records.
    sources: Vec<String>,
}

/// A link to be made.
#[derive(Clone, Debug)]
pub struct NewHealthLink<'a> {
    /// The consent of the patient's records.
    pub consent: &'a str,
    /// The terms as they were before the records were read.
    pub terms: &'a LinkTerms,
    /// The link's content.
    pub content: LinkContent,
    /// The patient's label for it.
    pub label: Option<&'a str>,
    /// The passcode that a recipient needs.
    pub passcode: Option<&'a str>,
    /// Whether the link's address returns the file, without a manifest in between.
    pub is_direct: bool,
    /// When it expires.
    pub expires_at: i64,
    /// The file, encrypted.
    pub file: &'a str,
}

/// Why a link is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefusal {
    /// There is already the maximum number of links.
    #[error("there are {LINKS_AT_ONCE} links already, and no more at a time; revoke one first")]
    TooMany,
    /// The records changed while the file was being made.
    #[error("the records have changed meanwhile; try again")]
    Changed,
}

impl HealthLinks<'_> {
    /// The terms of a link that would be made now. `None` if the consent or its records no longer exist.
    pub fn terms(&self, consent: &str) -> Result<Option<LinkTerms>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| terms(connection, consent, now))
    }

    /// Makes a link, and returns it with the random part of its address. The store does not keep that part.
    pub fn create(&self, new: &NewHealthLink<'_>) -> Result<Result<(HealthLink, String), LinkRefusal>, Error> {
        let now = self.store.clock().now();
        let (id, address) = (Uuid::new_v4().to_string(), secret::random("")?);
        // The hash is slow by design, so compute it before other writers have to wait.
        let passcode = new.passcode.map(passcode::kept).transpose()?;
        self.store.write(|transaction| {
            if terms(transaction, new.consent, now)?.as_ref() != Some(new.terms) {
                return Ok(Err(LinkRefusal::Changed));
            }
            let sql = "SELECT COUNT(*) FROM health_link WHERE consent = ?1 AND expires_at > ?2";
            let known: u32 = transaction.query_row(sql, params![new.consent, now], |row| row.get(0))?;
            if known >= LINKS_AT_ONCE {
                return Ok(Err(LinkRefusal::TooMany));
            }
            let sql =
                "INSERT INTO health_link (id, consent, address, content, label, direct, passcode, attempts, created_at,
                                                expires_at)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
            transaction.execute(
                sql,
                params![
                    id,
                    new.consent,
                    secret::digest(&address),
                    new.content,
                    new.label,
                    new.is_direct,
                    passcode,
                    PASSCODE_ATTEMPTS,
                    now,
                    new.expires_at
                ],
            )?;
            let sql = "INSERT INTO health_link_file (link, jwe) VALUES (?1, ?2)";
            transaction.execute(sql, params![id, new.file])?;
            let link = HealthLink::get(transaction, &id)?.ok_or(Error::Lost("health link"))?;
            let about = link.about();
            note(transaction, now, Actor::Patient, "health-link.created", about, &id)?;
            Ok(Ok((link, address)))
        })
    }
}

fn terms(connection: &Connection, consent: &str, now: i64) -> Result<Option<LinkTerms>, Error> {
    let Some(consent) = Consent::get(connection, consent)? else {
        return Ok(None);
    };
    if consent.state == ConsentState::Revoked || consent.expunged_at.is_some() {
        return Ok(None);
    }
    let mut terms = LinkTerms {
        until: None,
        sources: Vec::new(),
    };
    if consent.made_by == Origin::Operator {
        return Ok(Some(terms));
    }
    let mut ends = vec![consent.refresh_until];
    for authorization in Authorization::of(connection, &consent.id)? {
        if authorization.is_active(now) && authorization.data_erased_at.is_none() {
            ends.push(authorization.data_until);
            terms.sources.push(authorization.id);
        }
    }
    terms.until = ends.into_iter().flatten().min();
    Ok(Some(terms))
}
