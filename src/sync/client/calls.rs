//! The client: HTTP behind the guard, and FHIR with an access token. The other files of this folder add the calls to a
//! source, to an identity provider and to a record locator.

use reqwest::header::HeaderMap;

use super::error::Error;
use super::http::guard::Guard;
use super::http::realm::Realm;
use super::http::{Answer, Download, FHIR_JSON, Http, HttpLimits};

/// The maximum number of bytes that are read of an answer without interest.
const IGNORED: u64 = 16 << 10;

/// Calls sources, identity providers and record locators.
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) http: Http,
    /// The addresses below which documents are fetched without an access token, because each document's own address is
    /// signed.
    signed: Realm,
}

impl Client {
    /// Creates a client that calls only addresses that the guard allows.
    pub fn new(guard: Guard, limits: HttpLimits) -> Result<Client, Error> {
        Ok(Client {
            http: Http::new(guard, limits)?,
            signed: Realm::default(),
        })
    }

    /// Returns the client with signed documents: it gets documents below these addresses without an access token.
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

    /// Gets a FHIR resource or page. The access token is sent only within the realm. An answer with another status than
    /// 200 is returned, too.
    pub async fn fetch(&self, url: &str, token: &str, realm: &Realm) -> Result<Answer, Error> {
        self.http
            .get(url, FHIR_JSON, Some((token, realm)), self.http.limits().page)
            .await
    }

    /// Returns the guard, which decides which addresses are called.
    pub fn guard(&self) -> Guard {
        self.http.guard()
    }

    /// Posts a message with these headers to an address that is no source. Redirects are not followed. Returns the
    /// answer without its body.
    pub async fn post(&self, address: &str, headers: HeaderMap, body: Vec<u8>) -> Result<Answer, Error> {
        self.http.post(address, headers, body, IGNORED).await
    }

    /// Begins to get content that is not FHIR. The access token is sent only within the realm. The caller reads the
    /// body piece by piece.
    pub async fn open(&self, url: &str, accept: &str, token: &str, realm: &Realm) -> Result<Download, Error> {
        let opened = self.http.open(url, accept, Some((token, realm))).await?;
        Ok(Download::new(opened))
    }
}
