//! Reads which client a request to a token endpoint names (RFC 6749, section 2.3.1). The request sends the client's
//! key pair by `Authorization: Basic`, or `client_id` in the body with or without `client_secret`. A request that
//! does both is refused. [`Identity`] does not check whether the client exists; [`KeyPair`] does.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::body::Fields;
use super::error::OAuthError;
use crate::consent::Client;
use crate::http::error::Error;
use crate::http::message::Refused;
use crate::http::service::Service;

/// Decodes base64 with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A client and its credentials, as the request sends them. They are not verified.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::http) enum Identity {
    /// The request has only the publishable key.
    Public {
        /// The publishable key.
        client: String,
    },
    /// The request has the publishable key and the secret key.
    Confidential {
        /// The publishable key.
        client: String,
        /// The secret key.
        secret: String,
    },
}

impl Identity {
    /// Reads the client from a request's headers and fields. `None` if the request names no client.
    pub(in crate::http) fn of(headers: &HeaderMap, fields: &Fields) -> Result<Option<Identity>, OAuthError> {
        let basic = basic(headers)?;
        let named = fields.get("client_id")?.map(str::to_owned);
        let secret = fields.get("client_secret")?.map(str::to_owned);
        match (basic, named, secret) {
            (Some((client, secret)), None, None) => Ok(Some(Identity::Confidential { client, secret })),
            (Some(_), _, _) => Err(OAuthError::request(
                "the client is named twice, by Authorization: Basic and in the body",
            )),
            (None, Some(client), Some(secret)) => Ok(Some(Identity::Confidential { client, secret })),
            (None, Some(client), None) => Ok(Some(Identity::Public { client })),
            (None, None, Some(_)) => Err(OAuthError::request("client_secret needs client_id beside it")),
            (None, None, None) => Ok(None),
        }
    }

    /// Returns the publishable key.
    pub(in crate::http) fn client(&self) -> &str {
        match self {
            Identity::Public { client } | Identity::Confidential { client, .. } => client,
        }
    }

    /// Returns the secret key, if the request has one.
    pub(in crate::http) fn secret(&self) -> Option<&str> {
        match self {
            Identity::Public { .. } => None,
            Identity::Confidential { secret, .. } => Some(secret),
        }
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Identity").field(&self.client()).finish()
    }
}

/// The client of a request that sends its active key pair by `Authorization: Basic`, on a route outside of the token
/// endpoints. The request is charged to the client's rate.
pub(in crate::http) struct KeyPair(pub(in crate::http) Client);

impl FromRequestParts<Arc<Service>> for KeyPair {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<KeyPair, Refused> {
        let Ok(Some((client, secret))) = basic(&parts.headers) else {
            return Err(Error::KeyPair.into());
        };
        let client = service.store.clients().with_secret(&client, &secret)?;
        let client = client.ok_or(Error::KeyPair)?;
        service.throttle.charge_credential(&client.id, &parts.extensions)?;
        Ok(KeyPair(client))
    }
}

/// Reads the key pair of the Authorization header. `None` if there is no such header.
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, OAuthError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(OAuthError::request("there is more than one Authorization header"));
    }
    let malformed = || OAuthError::Client("Authorization must be Basic with base64 of publishable_key:secret_key");
    let text = value.to_str().map_err(|_| malformed())?;
    let (scheme, encoded) = text.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(malformed());
    }
    let decoded = LENIENT.decode(encoded.trim()).map_err(|_| malformed())?;
    let decoded = String::from_utf8(decoded).map_err(|_| malformed())?;
    let (client, secret) = decoded.split_once(':').ok_or_else(malformed)?;
    let (client, secret) = (
        plain(client).ok_or_else(malformed)?,
        plain(secret).ok_or_else(malformed)?,
    );
    if client.is_empty() || secret.is_empty() {
        return Err(malformed());
    }
    Ok(Some((client, secret)))
}

/// Decodes one half of the form-encoded key pair (RFC 6749, section 2.3.1). Keys have only characters that form
/// encoding leaves unchanged, so this also reads keys that the client did not encode. `None` if the result is not
/// UTF-8.
fn plain(half: &str) -> Option<String> {
    let spaced = half.replace('+', " ");
    let decoded = percent_encoding::percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD as BASE64;

    use super::*;

    fn request(authorization: &[&str], body: &str) -> Result<Option<Identity>, OAuthError> {
        let mut headers = HeaderMap::new();
        for value in authorization {
            headers.append(AUTHORIZATION, value.parse().unwrap());
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (none, limits) = (HeaderMap::new(), crate::http::Limits::default());
        let read = Fields::read(&none, axum::body::Body::from(body.to_owned()), &limits);
        Identity::of(&headers, &runtime.block_on(read).unwrap())
    }

    #[test]
    fn both_halves_of_basic_are_percent_decoded() {
        for pair in ["pk_test_a:sk_test_b", "pk%5Ftest%5Fa:sk_test%5fb"] {
            for encoded in [
                BASE64.encode(pair),
                BASE64.encode(pair).trim_end_matches('=').to_owned(),
            ] {
                let identity = request(&[&format!("bAsIc {encoded}")], "").unwrap().unwrap();
                assert_eq!((identity.client(), identity.secret()), ("pk_test_a", Some("sk_test_b")));
            }
        }
        let odd = request(&[&format!("Basic {}", BASE64.encode("a%3Ab:c:d"))], "")
            .unwrap()
            .unwrap();
        assert_eq!((odd.client(), odd.secret()), ("a:b", Some("c:d")));
    }

    #[test]
    fn the_header_and_the_body_never_both() {
        let basic = format!("Basic {}", BASE64.encode("pk_test_a:sk_test_b"));
        for body in [
            "client_id=pk_test_a",
            "client_secret=sk_test_b",
            "client_id=pk_test_a&client_secret=sk_test_b",
        ] {
            assert!(
                matches!(request(&[&basic], body), Err(OAuthError::Request(_))),
                "{body}"
            );
        }
        assert!(matches!(request(&[&basic, &basic], ""), Err(OAuthError::Request(_))));
        assert!(matches!(
            request(&[], "client_secret=sk_test_b"),
            Err(OAuthError::Request(_))
        ));
        assert_eq!(request(&[], "").unwrap(), None);
        assert_eq!(request(&[], "client_id=pk_test_a").unwrap().unwrap().secret(), None);
        let posted = request(&[], "client_id=pk_test_a&client_secret=sk_test_b").unwrap();
        let posted = posted.unwrap();
        assert_eq!((posted.client(), posted.secret()), ("pk_test_a", Some("sk_test_b")));
    }

    #[test]
    fn what_is_no_key_pair_is_refused() {
        for value in [
            "Basic",
            "Basic !",
            "Bearer x",
            "Basic Og==",
            "Basic YTo=",
            "Basic OmI=",
            "Basic YQ==",
            "Basic /w==",
        ] {
            assert!(matches!(request(&[value], ""), Err(OAuthError::Client(_))), "{value}");
        }
    }
}
