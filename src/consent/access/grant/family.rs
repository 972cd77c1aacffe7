//! Token families: the access and refresh tokens that descend from one exchange. At most one refresh token of a
//! family is valid at a time. The end of a family ends all its tokens.

use rusqlite::{Connection, OptionalExtension, params};

use crate::consent::access::secret;
use crate::consent::access::secret::Digest;
use crate::consent::access::token::Tokens;
use crate::consent::error::Error;
use crate::consent::log::audit::{Actor, note};
use crate::consent::record::Consent;
use crate::consent::with_sources::ConsentWithSources;

/// For this many seconds after the use of a code or refresh token, a second use counts as a retry of the same client:
/// it is refused and ends no tokens.
const RETRY_SECONDS: i64 = 10;

impl Tokens {
    /// Whether a second use of a code or refresh token may be a retry. It also may be one if only a jump of the clock
    /// has made it late.
    pub(super) fn may_be_retry(&self, used_at: i64, now: i64) -> bool {
        let since = now - used_at;
        since <= RETRY_SECONDS || since <= RETRY_SECONDS + self.store().clock_jumped_by()
    }
}

/// The API that began a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surface {
    /// The family began with an authorization code.
    Oauth,
    /// The family began with a public token. Its refresh tokens require the client's secret key.
    Link,
}

/// A stored refresh token.
#[derive(Clone, Debug)]
pub(super) struct RefreshToken {
    digest: Digest,
    pub(super) family: String,
    pub(super) consent: String,
    pub(super) surface: Surface,
    /// The publishable key of the client that got the token, if the client sent no secret key.
    pub(super) public_client: Option<String>,
    pub(super) expires_at: i64,
    pub(super) used_at: Option<i64>,
    pub(super) revoked_at: Option<i64>,
}

impl Surface {
    fn name(self) -> &'static str {
        match self {
            Surface::Oauth => "oauth",
            Surface::Link => "link",
        }
    }
}

impl RefreshToken {
    /// Returns the stored entry of a refresh token.
    pub(super) fn find(connection: &Connection, text: &str) -> Result<Option<RefreshToken>, Error> {
        let sql = "SELECT family, consent, surface, public_client, expires_at, used_at, revoked_at FROM refresh_token
                   WHERE digest = ?1";
        let digest = secret::digest(text);
        let mut statement = connection.prepare_cached(sql)?;
        let token = statement.query_row([digest], |row| {
            // A CHECK constraint allows only the names of the two surfaces.
            let link = row.get::<_, String>(2)? == Surface::Link.name();
            Ok(RefreshToken {
                digest,
                family: row.get(0)?,
                consent: row.get(1)?,
                surface: if link { Surface::Link } else { Surface::Oauth },
                public_client: row.get(3)?,
                expires_at: row.get(4)?,
                used_at: row.get(5)?,
                revoked_at: row.get(6)?,
            })
        });
        Ok(token.optional()?)
    }

    /// Marks the token as used. Returns `false` if it was used before.
    pub(super) fn spend(&self, connection: &Connection, now: i64) -> Result<bool, Error> {
        let sql = "UPDATE refresh_token SET used_at = ?2 WHERE digest = ?1 AND used_at IS NULL";
        Ok(connection.prepare_cached(sql)?.execute(params![self.digest, now])? == 1)
    }
}

/// Makes and stores the next refresh token of a family, and extends the consent's refresh window. Returns the token
/// and its lifetime in seconds. `public_client` is the client's publishable key if it sent no secret key.
pub(super) fn add_refresh_token(
    connection: &Connection,
    now: i64,
    family: &str,
    full_consent: &ConsentWithSources,
    surface: Surface,
    public_client: Option<&str>,
) -> Result<(String, i64), Error> {
    let text = secret::random("rt_")?;
    let (consent, until) = (&full_consent.consent.id, full_consent.refresh_until(now));
    let sql = "INSERT INTO refresh_token (digest, family, consent, surface, public_client, created_at, expires_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let digest = secret::digest(&text);
    let surface = surface.name();
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![digest, family, consent, surface, public_client, now, until])?;
    let sql = "UPDATE consent SET refresh_until = max(COALESCE(refresh_until, 0), ?2) WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![consent, until])?;
    Ok((text, until - now))
}

/// Stores an access token's id, so that the token can be revoked.
pub(super) fn add_access_token(
    connection: &Connection,
    family: &str,
    consent: &str,
    jti: &str,
    expires_at: i64,
) -> Result<(), Error> {
    let sql = "INSERT INTO access_token (jti, consent, family, expires_at) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![jti, consent, family, expires_at])?;
    Ok(())
}

/// Revokes all tokens of a family, because a code or refresh token was used a second time.
pub(super) fn end_family(
    connection: &Connection,
    now: i64,
    family: &str,
    consent: &Consent,
    why: &str,
) -> Result<(), Error> {
    let sql = "INSERT OR IGNORE INTO revoked_token (jti, expires_at)
               SELECT jti, expires_at FROM access_token WHERE family = ?1";
    let revoked = connection.prepare_cached(sql)?.execute([family])?;
    connection
        .prepare_cached("DELETE FROM access_token WHERE family = ?1")?
        .execute([family])?;
    let sql = "UPDATE refresh_token SET revoked_at = ?2 WHERE family = ?1 AND revoked_at IS NULL";
    let ended = connection.prepare_cached(sql)?.execute(params![family, now])?;
    if revoked + ended > 0 {
        note(connection, now, Actor::Service, "tokens.revoked", consent.about(), why)?;
    }
    Ok(())
}
