//! Fetches documents that stayed at a source, while a client waits.
//!
//! This file decides which addresses are called, and with which access. It uses the access token of the authorization's
//! syncs and does not renew it: if a source issues single-use refresh tokens, the second one to renew would lose
//! access.

use std::time::Duration;

use url::Url;

use super::client::{Client, Error, Realm};
use super::jobs::{Json, of_json};
use crate::consent::{self, Authorization, Store};

/// Until a document must be there.
const PATIENCE: Duration = Duration::from_secs(30);
/// The bytes around a document in JSON.
const AROUND: u64 = 64 << 10;

/// A document as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The media type that the answer names.
    pub content_type: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why a document did not come. The texts name hosts at most.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// The source's access token has ended, or the source does not take it.
    #[error("access to it has ended; the next sync may renew it")]
    NoAccess,
    /// The status of the answer.
    #[error("it answered with status {0}")]
    Status(u16),
    /// The document is larger than so many bytes.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// The answer is an OperationOutcome, or a Binary without bytes.
    #[error("it gave something else than a document")]
    Else,
    /// It took longer than the caller may wait.
    #[error("it took too long")]
    Late,
    /// The call came to nothing.
    #[error(transparent)]
    Call(#[from] Error),
}

/// Where the documents of one source are.
#[derive(Debug)]
pub struct Shelf {
    client: Client,
    /// The source's addresses, and the token that goes there.
    own: Option<(Realm, Option<Token>)>,
}

/// An access token, which nobody prints.
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Shelf {
    /// The access of an authorization. Without it only documents at signed addresses are fetched.
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

    /// Whether what is at an address is fetched.
    pub fn has(&self, address: &str) -> bool {
        let own = |url: &Url| self.own.as_ref().is_some_and(|(realm, _)| realm.own(url).is_some());
        Url::parse(address).is_ok_and(|url| own(&url) || self.client.is_signed(&url))
    }

    /// Fetches the document at an address, if it has at most this many bytes.
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
            // A token for nowhere goes nowhere.
            None if self.client.is_signed(&url) => (url, &nowhere, ""),
            None => return Err(NotGiven::Else),
        };
        let asked = async {
            let came = self.ask(&url, "*/*", (token, realm), max_bytes).await?;
            match came.content_type.as_deref().is_some_and(|ty| ty.contains("fhir+xml")) {
                // XML of FHIR around the bytes: it has the other form, too.
                true => self.ask(&url, "application/fhir+json", (token, realm), max_bytes).await,
                false => Ok(came),
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
        let is_json = head.content_type.as_deref().is_some_and(|ty| ty.contains("json"));
        // JSON has its bytes in base64, and something around it.
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
        match came.bytes.len() as u64 > max_bytes {
            true => Err(too_large()),
            false => Ok(came),
        }
    }
}

/// The document in a Binary; other JSON is the document itself.
fn inside(came: Document) -> Result<Document, NotGiven> {
    match of_json(&came.bytes) {
        Json::Binary { bytes, content_type } => Ok(Document { content_type, bytes }),
        Json::Nothing => Err(NotGiven::Else),
        Json::Other => Ok(came),
    }
}
