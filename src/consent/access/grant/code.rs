//! Authorization codes and public tokens. At its end, the flow gives one of them to the application. The application
//! can exchange it once, within 30 minutes. The store keeps only their digests.

use rusqlite::{Connection, OptionalExtension, params};

use crate::consent::access::secret;
use crate::consent::access::secret::Digest;
use crate::consent::error::Error;
use crate::consent::log::audit::Actor;
use crate::consent::moves::IDLE_SECONDS;
use crate::consent::record::Consent;
use crate::consent::states::ConsentEvent;
use crate::consent::store::Store;

/// What an authorization code is bound to.
#[derive(Clone, Copy, Debug)]
pub struct NewCode<'a> {
    /// The id of the consent.
    pub consent: &'a str,
    /// The publishable key of the client that requested the code.
    pub client: &'a str,
    /// The redirect URI of the authorization request.
    pub redirect_uri: &'a str,
    /// The S256 code challenge of the authorization request (RFC 7636).
    pub challenge: &'a str,
}

/// A stored code or public token.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) digest: Digest,
    pub(super) consent: String,
    pub(super) client: String,
    pub(super) redirect_uri: Option<String>,
    pub(super) challenge: Option<String>,
    pub(super) expires_at: i64,
    pub(super) used_at: Option<i64>,
    pub(super) family: Option<String>,
}

/// A code or a public token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    PublicToken,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Code => "code",
            Kind::PublicToken => "public_token",
        }
    }
}

impl Code {
    /// Returns the stored entry of a code or public token.
    pub(super) fn find(connection: &Connection, kind: Kind, text: &str) -> Result<Option<Code>, Error> {
        let sql = "SELECT consent, client, redirect_uri, challenge, expires_at, used_at, family FROM authorization_code
                   WHERE digest = ?1 AND kind = ?2";
        let digest = secret::digest(text);
        let mut statement = connection.prepare_cached(sql)?;
        let code = statement.query_row(params![digest, kind.name()], |row| {
            Ok(Code {
                digest,
                consent: row.get(0)?,
                client: row.get(1)?,
                redirect_uri: row.get(2)?,
                challenge: row.get(3)?,
                expires_at: row.get(4)?,
                used_at: row.get(5)?,
                family: row.get(6)?,
            })
        });
        Ok(code.optional()?)
    }

    /// Marks the code as used for a token family. Returns `false` if it was used before.
    pub(super) fn spend(&self, connection: &Connection, now: i64, family: &str) -> Result<bool, Error> {
        let sql = "UPDATE authorization_code SET used_at = ?2, family = ?3 WHERE digest = ?1 AND used_at IS NULL";
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.execute(params![self.digest, now, family])? == 1)
    }
}

/// Makes and stores an authorization code, in the transaction that ends the flow.
pub(in crate::consent) fn issue_code(connection: &Connection, now: i64, new: &NewCode<'_>) -> Result<String, Error> {
    let text = secret::random("")?;
    insert(
        connection,
        now,
        Kind::Code,
        &text,
        new.consent,
        new.client,
        Some((new.redirect_uri, new.challenge)),
    )?;
    Ok(text)
}

/// Makes and stores a public token, in the transaction that ends the flow.
pub(in crate::consent) fn issue_public_token(
    connection: &Connection,
    now: i64,
    consent: &str,
    client: &str,
) -> Result<String, Error> {
    let text = secret::random("public_")?;
    insert(connection, now, Kind::PublicToken, &text, consent, client, None)?;
    Ok(text)
}

fn insert(
    connection: &Connection,
    now: i64,
    kind: Kind,
    text: &str,
    consent: &str,
    client: &str,
    binding: Option<(&str, &str)>,
) -> Result<(), Error> {
    let until = now + IDLE_SECONDS;
    let (redirect_uri, challenge) = binding.unzip();
    let sql = "INSERT INTO authorization_code (digest, kind, consent, client, redirect_uri, challenge, created_at, expires_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(sql)?.execute(params![
        secret::digest(text),
        kind.name(),
        consent,
        client,
        redirect_uri,
        challenge,
        now,
        until
    ])?;
    let sql = "UPDATE consent SET code_until = ?2 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![consent, until])?;
    Ok(())
}

/// The repository of authorization codes and public tokens.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Codes<'_> {
    /// Makes an authorization code for a consent, and changes the consent's state to AUTHORIZED. The store keeps only
    /// the code's digest.
    pub fn issue(&self, new: &NewCode<'_>) -> Result<String, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            finish(transaction, now, new.consent)?;
            issue_code(transaction, now, new)
        })
    }

    /// Makes a public token for a consent, for the link component, and changes the consent's state to AUTHORIZED.
    pub fn issue_public_token(&self, consent: &str, client: &str) -> Result<String, Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            finish(transaction, now, consent)?;
            issue_public_token(transaction, now, consent, client)
        })
    }
}

/// Changes the consent's state to AUTHORIZED.
fn finish(connection: &Connection, now: i64, consent: &str) -> Result<(), Error> {
    let mut consent = Consent::get(connection, consent)?.ok_or(Error::Lost("consent"))?;
    consent.step(connection, now, Actor::Patient, ConsentEvent::Finished)?;
    Ok(())
}
