//! A SMART on FHIR client: discovery, authorization, tokens, identities, and FHIR over guarded HTTP.
//!
//! It interprets a source's answers and decides which failures are temporary. `consent` decides the effect on a
//! consent. The jobs decide what is fetched when. Errors and logs name hosts and statuses, never a path, a query, a
//! token or contents.

mod authorize;
mod discovery;
mod error;
mod guard;
mod http;
mod identity;
mod locator;
mod realm;
mod registration;
mod secret;
mod statement;
mod token;
mod whose;

pub use authorize::{Redirect, Verifier};
pub use discovery::Configuration;
pub use error::Error;
pub use guard::Guard;
pub use http::{Answer, Download, HttpLimits};
pub use identity::{Identity, Provider};
pub use locator::{Demographics, Facility};
pub use realm::Realm;
pub use registration::Registration;
pub use secret::SecretTried;
pub use statement::{Served, Statement};
pub use token::Grant;
pub use whose::Arrival;

pub(super) use error::is_passing;
use http::Http;

/// Calls sources, identity providers and record locators.
#[derive(Clone, Debug)]
pub struct Client {
    http: Http,
    /// The address prefixes of documents that need no access token.
    signed: Realm,
}

impl Client {
    /// A client that calls only addresses that the guard allows.
    pub fn new(guard: Guard, limits: HttpLimits) -> Result<Client, Error> {
        Ok(Client {
            http: Http::new(guard, limits)?,
            signed: Realm::default(),
        })
    }

    /// The same client, which also gets documents below these addresses without a token, because their addresses are
    /// signed.
    pub fn with_signed_documents<'a>(self, addresses: impl IntoIterator<Item = &'a str>) -> Client {
        Client {
            signed: Realm::under(addresses),
            ..self
        }
    }

    /// Whether an address is that of a signed document.
    pub(super) fn is_signed(&self, url: &url::Url) -> bool {
        self.signed.holds(url)
    }

    /// Gets a FHIR resource or page with an access token, which is sent only within the realm. Statuses other than 200
    /// are returned as answers too.
    pub async fn fetch(&self, url: &str, token: &str, realm: &Realm) -> Result<Answer, Error> {
        self.http
            .get(url, http::FHIR_JSON, Some((token, realm)), self.http.limits().page)
            .await
    }

    /// Begins to get other content than FHIR, by the same rules. The caller reads the body piece by piece.
    pub async fn open(&self, url: &str, accept: &str, token: &str, realm: &Realm) -> Result<Download, Error> {
        let opened = self.http.open(url, accept, Some((token, realm))).await?;
        Ok(Download::new(opened))
    }
}
