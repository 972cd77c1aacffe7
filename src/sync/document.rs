//! Fetches documents that syncs left at a source. A client requests the document and waits for it.
//!
//! This file decides which addresses are called, and with which token. It uses the access token of the authorization's
//! syncs and does not refresh it, because some sources issue refresh tokens for a single use. If a sync refreshed at
//! the same time, the refresh token would be used twice, and the access would be lost.

use std::time::Duration;

use url::Url;

use super::client::{Client, Error, Realm};
use super::jobs::{Json, of_json};
use crate::consent::{self, Authorization, Store};

/// The timeout for a document.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum number of bytes of the JSON around the base64 of a document.
const AROUND: u64 = 64 << 10;

/// A fetched document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The media type in the answer.
    pub content_type: Option<String>,
    /// The bytes of the document.
    pub bytes: Vec<u8>,
}

/// Why a document could not be fetched. The messages contain no path, query or token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// The source's access token has expired, or the source refuses it.
    #[error("access to it has ended; the next sync may renew it")]
    NoAccess,
    /// The source answered with this status.
    #[error("it answered with status {0}")]
    Status(u16),
    /// The document is larger than this number of bytes.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// The answer is an OperationOutcome or a Binary without bytes, or the address does not belong to the source.
    #[error("it gave something else than a document")]
    Else,
    /// The timeout passed.
    #[error("it took too long")]
    Late,
    /// The call failed.
    #[error(transparent)]
    Call(#[from] Error),
}

/// Fetches the documents of one source.
#[derive(Debug)]
pub struct Shelf {
    client: Client,
    /// The source's addresses, and its access token if that has not expired. `None` if there is no source.
    own: Option<(Realm, Option<Token>)>,
}

/// An access token. Its `Debug` form hides it.
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Shelf {
    /// Creates a shelf for the documents of an authorization's source. Without an authorization, only documents at
    /// signed addresses can be fetched.
    pub fn open(
        store: &Store,
        client: &Client,
        authorization: Option<&Authorization>,
    ) -> Result<Shelf, consent::Error> {
        let mut shelf = Shelf {
            client: client.clone(),
            own: None,
        };
        let Some(authorization) = authorization else {
            return Ok(shelf);
        };
        if let Some(endpoint) = store.endpoints().get(&authorization.endpoint)? {
            let pages = store.endpoints().pages(&endpoint.id)?;
            let under = pages.iter().map(String::as_str).chain([endpoint.fhir_base.as_str()]);
            let credential = store.credentials().get(&authorization.id)?;
            let now = store.clock().now();
            let holds = credential.filter(|one| one.expires_at.is_none_or(|ends| ends > now));
            shelf.own = Some((Realm::under(under), holds.map(|one| Token(one.access_token))));
        }
        Ok(shelf)
    }

    /// Whether an address belongs to the source or is signed, so that its document may be fetched.
    pub fn has(&self, address: &str) -> bool {
        let own = |url: &Url| self.own.as_ref().is_some_and(|(realm, _)| realm.own(url).is_some());
        Url::parse(address).is_ok_and(|url| own(&url) || self.client.is_signed(&url))
    }

    /// Fetches the document at an address. A document of more than `max_bytes` bytes is an error.
    pub async fn get(&self, address: &str, max_bytes: u64) -> Result<Document, NotGiven> {
        let url = Url::parse(address).map_err(|_| NotGiven::Else)?;
        let nowhere = Realm::default();
        let own = self
            .own
            .as_ref()
            .and_then(|(realm, token)| Some((realm.own(&url)?, realm, token)));
        let (url, realm, token) = match own {
            Some((url, realm, Some(Token(token)))) => (url, realm, token.as_str()),
            Some((_, _, None)) => return Err(NotGiven::NoAccess),
            // The address is signed. With an empty realm no token is sent.
            None if self.client.is_signed(&url) => (url, &nowhere, ""),
            None => return Err(NotGiven::Else),
        };
        let asked = async {
            let came = self.ask(&url, "*/*", (token, realm), max_bytes).await?;
            if came
                .content_type
                .as_deref()
                .is_some_and(|content_type| content_type.contains("fhir+xml"))
            {
                // The source sent FHIR as XML, so JSON is requested instead.
                self.ask(&url, "application/fhir+json", (token, realm), max_bytes).await
            } else {
                Ok(came)
            }
        };
        tokio::time::timeout(PATIENCE, asked)
            .await
            .map_err(|_| NotGiven::Late)?
    }

    async fn ask(&self, url: &Url, accept: &str, access: (&str, &Realm), max_bytes: u64) -> Result<Document, NotGiven> {
        let mut download = self.client.open(url.as_str(), accept, access.0, access.1).await?;
        let head = download.head();
        match head.status {
            200 => {}
            401 if !access.0.is_empty() => return Err(NotGiven::NoAccess),
            status => return Err(NotGiven::Status(status)),
        }
        let is_json = head
            .content_type
            .as_deref()
            .is_some_and(|content_type| content_type.contains("json"));
        // JSON contains the bytes in base64, with some text around them. So its limit is higher.
        let taken = if is_json { max_bytes / 3 * 4 + AROUND } else { max_bytes };
        let too_large = || NotGiven::TooLarge(max_bytes);
        if download.length().is_some_and(|length| length > taken) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        while let Some(piece) = download.piece().await? {
            if (bytes.len() + piece.len()) as u64 > taken {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        let came = Document {
            content_type: head.content_type,
            bytes,
        };
        let came = if is_json { inside(came)? } else { came };
        if came.bytes.len() as u64 > max_bytes {
            Err(too_large())
        } else {
            Ok(came)
        }
    }
}

/// Returns the document in a Binary. Other JSON is the document itself.
fn inside(came: Document) -> Result<Document, NotGiven> {
    match of_json(&came.bytes) {
        Json::Binary { bytes, content_type } => Ok(Document { content_type, bytes }),
        Json::Nothing => Err(NotGiven::Else),
        Json::Other => Ok(came),
    }
}
