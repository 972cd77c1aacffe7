//! Makes health links.

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::passcode::{self, PASSCODE_ATTEMPTS};
use super::row::{HealthLink, HealthLinks, LinkContent};
use crate::consent::access::secret;
use crate::consent::error::Error;
use crate::consent::log::audit::{Actor, note};
use crate::consent::record::{Authorization, Consent, Origin};
use crate::consent::states::ConsentState;

/// The maximum number of unexpired links of a consent.
pub const LINKS_AT_ONCE: u32 = 20;

/// The authorizations whose records a new link may contain, and the latest possible expiry of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTerms {
    /// The time at which the refresh window ends or the records of a source expire, whichever comes first. `None` if
    /// there is no such time.
    pub until: Option<i64>,
    /// The ids of the authorizations whose records are stored or expected.
    sources: Vec<String>,
}

/// A link to be made.
#[derive(Clone, Debug)]
pub struct NewHealthLink<'a> {
    /// The consent whose records the link's file contains.
    pub consent: &'a str,
    /// The terms as [`HealthLinks::terms`] returned them before the records were read.
    pub terms: &'a LinkTerms,
    /// What the link's file contains.
    pub content: LinkContent,
    /// The patient's name for the link.
    pub label: Option<&'a str>,
    /// The passcode that a recipient must enter.
    pub passcode: Option<&'a str>,
    /// Whether the link's address returns the file itself. Otherwise it returns a manifest.
    pub is_direct: bool,
    /// When the link expires.
    pub expires_at: i64,
    /// The file as a compact JWE.
    pub file: &'a str,
}

/// Why a link is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefusal {
    /// The consent already has the maximum number of links.
    #[error("there are {LINKS_AT_ONCE} links already, and no more at a time; revoke one first")]
    TooMany,
    /// The terms have changed since the caller read the records.
    #[error("the records have changed meanwhile; try again")]
    Changed,
}

impl HealthLinks<'_> {
    /// Returns the present terms for a link. `None` if the consent does not exist, is revoked, or its records were
    /// expunged.
    pub fn terms(&self, consent: &str) -> Result<Option<LinkTerms>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| terms(connection, consent, now))
    }

    /// Makes a link. Returns the link and the random part of its address. The store keeps only a digest of this part.
    pub fn create(&self, new: &NewHealthLink<'_>) -> Result<Result<(HealthLink, String), LinkRefusal>, Error> {
        let now = self.store.clock().now();
        let (id, address) = (Uuid::new_v4().to_string(), secret::random("")?);
        // Hashing a passcode is slow by design. It is done before the transaction, so that other writers need not
        // wait.
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
