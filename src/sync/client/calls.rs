//! The client itself: HTTP behind the guard, and FHIR with an access token. The files beside it add what it can ask of
//! a source, an identity provider and a record locator.

use super::error::Error;
use super::guard::Guard;
use super::http::{Answer, Download, FHIR_JSON, Http, HttpLimits};
use super::realm::Realm;

/// Calls sources, identity providers and record locators.
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) http: Http,
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
    pub(in crate::sync) fn is_signed(&self, url: &url::Url) -> bool {
        self.signed.holds(url)
    }

    /// Gets a FHIR resource or page with an access token, which is sent only within the realm. Statuses other than 200
    /// are returned as answers too.
    pub async fn fetch(&self, url: &str, token: &str, realm: &Realm) -> Result<Answer, Error> {
        self.http
            .get(url, FHIR_JSON, Some((token, realm)), self.http.limits().page)
            .await
    }

    /// Begins to get other content than FHIR, by the same rules. The caller reads the body piece by piece.
    pub async fn open(&self, url: &str, accept: &str, token: &str, realm: &Realm) -> Result<Download, Error> {
        let opened = self.http.open(url, accept, Some((token, realm))).await?;
        Ok(Download::new(opened))
    }
}
