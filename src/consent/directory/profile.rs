//! The profiles of applications and organizations that patients see besides the names: purpose, place, links and a
//! logo.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rusqlite::{Connection, OptionalExtension, params};
use url::Url;

use super::super::error::Error;
use super::super::log::audit::{About, Actor, note};
use super::super::store::Store;
use super::address::is_loopback;
use crate::fhir::hidden::is_hidden;
use crate::lake::Mode;

/// The maximum length of a purpose or place, in characters.
const LONGEST: usize = 200;
/// The maximum size of a logo in bytes.
const LARGEST: usize = 256 << 10;
/// How many bytes of a file are searched for `<svg`.
const HEAD: usize = 1 << 10;

/// A picture that a browser can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logo {
    /// The logo's media type.
    pub media: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}

impl Logo {
    /// Makes a logo from a file. Recognizes PNG, JPEG, WebP and SVG by the first bytes, and refuses other files.
    pub fn new(bytes: Vec<u8>) -> Result<Logo, Error> {
        let invalid = |problem| Error::Invalid {
            what: "the logo".to_owned(),
            problem,
        };
        if bytes.len() > LARGEST {
            return Err(invalid("is larger than 256 KiB"));
        }
        let head = &bytes[..bytes.len().min(HEAD)];
        let media = match head {
            [0x89, b'P', b'N', b'G', ..] => "image/png",
            [0xff, 0xd8, 0xff, ..] => "image/jpeg",
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
            head if String::from_utf8_lossy(head).contains("<svg") => "image/svg+xml",
            _ => return Err(invalid("is no PNG, JPEG, WebP or SVG")),
        };
        let media = media.to_owned();
        Ok(Logo { media, bytes })
    }
}

/// An application's profile for patients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplicationProfile {
    /// The purpose for which the application needs the records, in one sentence.
    pub purpose: Option<String>,
    /// The address of the privacy policy.
    pub privacy: Option<String>,
    /// The address of the terms of use.
    pub terms: Option<String>,
    /// A short digest of the logo, for its address. `None` if there is no logo.
    pub logo: Option<String>,
}

/// An organization's profile for patients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrganizationProfile {
    /// The place, in words that patients know.
    pub place: Option<String>,
    /// The rank among organizations of the same popularity. An organization without a rank comes last.
    pub rank: Option<u32>,
    /// A short digest of the logo, for its address. `None` if there is no logo.
    pub logo: Option<String>,
}

/// Changes of an application's profile. `None` keeps a value. An empty string removes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApplicationChange<'a> {
    /// The purpose for which the application needs the records, in one sentence.
    pub purpose: Option<&'a str>,
    /// The address of the privacy policy.
    pub privacy: Option<&'a str>,
    /// The address of the terms of use.
    pub terms: Option<&'a str>,
    /// The logo. `Some(None)` removes it.
    pub logo: Option<Option<&'a Logo>>,
}

/// Changes of an organization's profile. `None` keeps a value. An empty string removes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrganizationChange<'a> {
    /// The place, in words that patients know.
    pub place: Option<&'a str>,
    /// The rank among organizations of the same popularity. `Some(None)` removes it.
    pub rank: Option<Option<u32>>,
    /// The logo. `Some(None)` removes it.
    pub logo: Option<Option<&'a Logo>>,
}

/// Whether a logo is that of an application or of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoOf {
    /// The logo of an application.
    Application,
    /// The logo of an organization.
    Organization,
}

/// The repository of the profiles of applications and organizations.
#[derive(Clone, Copy, Debug)]
pub struct Profiles<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Profiles<'_> {
    /// Returns an application's profile. It is empty if none was set.
    pub fn of_application(&self, application: &str) -> Result<ApplicationProfile, Error> {
        self.store.read(|connection| {
            let sql = "SELECT purpose, privacy, terms, logo_digest FROM application_profile WHERE application = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row([application], |row| {
                Ok(ApplicationProfile {
                    purpose: row.get(0)?,
                    privacy: row.get(1)?,
                    terms: row.get(2)?,
                    logo: row.get(3)?,
                })
            });
            Ok(found.optional()?.unwrap_or_default())
        })
    }

    /// Changes an application's profile.
    pub fn set_of_application(
        &self,
        application: &str,
        change: &ApplicationChange<'_>,
        actor: Actor,
    ) -> Result<(), Error> {
        let purpose = change.purpose.map(|text| line("the purpose", text)).transpose()?;
        let is_in_test = self.is_in_test(application)?;
        let link = |what: &str, text| link(what, text, is_in_test);
        let privacy = change
            .privacy
            .map(|text| link("the privacy policy", text))
            .transpose()?;
        let terms = change.terms.map(|text| link("the terms", text)).transpose()?;
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let known = "SELECT EXISTS (SELECT 1 FROM application WHERE id = ?1)";
            if !transaction.query_row(known, [application], |row| row.get::<_, bool>(0))? {
                return Err(Error::UnknownApplication(application.to_owned()));
            }
            let sql = "INSERT INTO application_profile (application) VALUES (?1) ON CONFLICT DO NOTHING";
            transaction.execute(sql, [application])?;
            let table = ("application_profile", "application", application);
            for (column, text) in [("purpose", purpose), ("privacy", privacy), ("terms", terms)] {
                put(transaction, table, column, text)?;
            }
            put_logo(transaction, table, change.logo)?;
            let about = About {
                application: Some(application),
                ..About::default()
            };
            note(transaction, now, actor, "application.profile-set", about, "")
        })
    }

    /// Whether an application has keys of test mode only.
    fn is_in_test(&self, application: &str) -> Result<bool, Error> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM client WHERE application = ?1 AND mode <> ?2)";
        self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row(params![application, Mode::Test.schema()], |row| row.get(0));
            Ok(found?)
        })
    }

    /// Returns an organization's profile. It is empty if none was set.
    pub fn of_organization(&self, organization: &str) -> Result<OrganizationProfile, Error> {
        self.store.read(|connection| {
            let sql = "SELECT place, rank, logo_digest FROM organization_profile WHERE organization = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row([organization], |row| {
                Ok(OrganizationProfile {
                    place: row.get(0)?,
                    rank: row.get(1)?,
                    logo: row.get(2)?,
                })
            });
            Ok(found.optional()?.unwrap_or_default())
        })
    }

    /// Changes an organization's profile.
    pub fn set_of_organization(
        &self,
        organization: &str,
        change: &OrganizationChange<'_>,
        actor: Actor,
    ) -> Result<(), Error> {
        let place = change.place.map(|text| line("the place", text)).transpose()?;
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let known = "SELECT EXISTS (SELECT 1 FROM organization WHERE id = ?1)";
            if !transaction.query_row(known, [organization], |row| row.get::<_, bool>(0))? {
                return Err(Error::UnknownOrganization(organization.to_owned()));
            }
            let sql = "INSERT INTO organization_profile (organization) VALUES (?1) ON CONFLICT DO NOTHING";
            transaction.execute(sql, [organization])?;
            let table = ("organization_profile", "organization", organization);
            put(transaction, table, "place", place)?;
            if let Some(rank) = change.rank {
                let sql = "UPDATE organization_profile SET rank = ?2 WHERE organization = ?1";
                transaction.execute(sql, params![organization, rank])?;
            }
            put_logo(transaction, table, change.logo)?;
            note(
                transaction,
                now,
                actor,
                "organization.profile-set",
                About::default(),
                organization,
            )
        })
    }

    /// Returns the logo of an application or an organization.
    pub fn logo(&self, of: LogoOf, id: &str) -> Result<Option<Logo>, Error> {
        let sql = match of {
            LogoOf::Application => {
                "SELECT logo_media, logo FROM application_profile WHERE application = ?1 AND logo IS NOT NULL"
            }
            LogoOf::Organization => {
                "SELECT logo_media, logo FROM organization_profile WHERE organization = ?1 AND logo IS NOT NULL"
            }
        };
        self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row([id], |row| {
                Ok(Logo {
                    media: row.get(0)?,
                    bytes: row.get(1)?,
                })
            });
            Ok(found.optional()?)
        })
    }
}

/// The name of a table, the name of its id column, and an id.
type Row<'a> = (&'static str, &'static str, &'a str);

fn put(
    connection: &Connection,
    (table, key, id): Row<'_>,
    column: &str,
    text: Option<Option<&str>>,
) -> Result<(), Error> {
    if let Some(text) = text {
        let sql = format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1");
        connection.execute(&sql, params![id, text])?;
    }
    Ok(())
}

fn put_logo(connection: &Connection, (table, key, id): Row<'_>, logo: Option<Option<&Logo>>) -> Result<(), Error> {
    if let Some(kept) = logo {
        let digest = kept.map(|logo| {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &logo.bytes);
            URL_SAFE_NO_PAD.encode(&digest.as_ref()[..9])
        });
        let sql = format!("UPDATE {table} SET logo = ?2, logo_media = ?3, logo_digest = ?4 WHERE {key} = ?1");
        let (bytes, media) = (kept.map(|logo| &logo.bytes), kept.map(|logo| &logo.media));
        connection.execute(&sql, params![id, bytes, media, digest])?;
    }
    Ok(())
}

/// Checks a line of text and returns it trimmed. `None` if it is empty.
fn line<'t>(what: &str, text: &'t str) -> Result<Option<&'t str>, Error> {
    let problem = match text.trim() {
        "" => return Ok(None),
        text if text.chars().count() > LONGEST => "is longer than 200 letters",
        text if text.chars().any(is_hidden) => "has control characters or invisible ones",
        text => return Ok(Some(text)),
    };
    let what = what.to_owned();
    Err(Error::Invalid { what, problem })
}

/// Checks an `https` address, which patients may follow, and returns it trimmed. `None` if it is empty. An application
/// that is only in test mode may run on the browser's machine, so it may have `http` addresses there.
fn link<'t>(what: &str, text: &'t str, is_in_test: bool) -> Result<Option<&'t str>, Error> {
    let address = text.trim();
    if address.is_empty() {
        return Ok(None);
    }
    let fine = Url::parse(address).is_ok_and(|url| {
        let is_safe = match url.scheme() {
            "https" => url.has_host(),
            "http" => is_in_test && is_loopback(&url),
            _ => false,
        };
        is_safe && url.username().is_empty() && url.password().is_none()
    });
    if fine && address.len() <= 2_000 {
        Ok(Some(address))
    } else {
        Err(Error::Invalid {
            what: format!("{what} {address:?}"),
            problem: "is no https address",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_tests_on_the_same_machine() {
        let is_fine = |address: &str, is_in_test| link("the terms", address, is_in_test).is_ok();
        for (address, live, test) in [
            ("https://app.example/terms", true, true),
            ("http://127.0.0.1:8081/app/terms", false, true),
            ("http://localhost/terms", false, true),
            ("http://app.example/terms", false, false),
            ("http://127.0.0.1.example/terms", false, false),
            ("http://me@127.0.0.1/terms", false, false),
            ("javascript:alert(1)", false, false),
        ] {
            assert_eq!(
                (is_fine(address, false), is_fine(address, true)),
                (live, test),
                "{address}"
            );
        }
        assert_eq!(link("the terms", " ", false).unwrap(), None);
    }
}
