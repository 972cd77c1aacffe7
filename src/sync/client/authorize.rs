//! Builds the address to which a patient is sent for an authorization at a source, and the values that are needed when
//! the patient comes back.

use oauth2::basic::BasicClient;
use oauth2::{AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope};
use serde::{Deserialize, Serialize};

use super::calls::Client;
use super::discovery::Configuration;
use super::error::Error;
use super::registration::Registration;

/// The address to which the patient is sent.
#[derive(Clone)]
pub struct Redirect {
    /// The address of the authorization endpoint, with the request as its query.
    pub url: String,
    /// The `state` in the address. The callback finds the patient's session by a digest of this value.
    pub state: String,
    /// The values for the exchange of the code.
    pub verifier: Verifier,
}

/// The values that are stored, encrypted, until the patient comes back.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verifier {
    /// PKCE's verifier, which the exchange of the code sends.
    pub code_verifier: String,
    /// The `nonce` that an ID token must repeat.
    pub nonce: String,
}

impl std::fmt::Debug for Redirect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redirect").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl Client {
    /// Builds an authorization request to a source (`aud` is its FHIR base) or to an identity provider (no `aud`). The
    /// caller gives each source its own redirect URI, so that an answer of one source never counts as an answer of
    /// another source.
    pub fn redirect(
        &self,
        configuration: &Configuration,
        registration: &Registration,
        redirect_uri: &str,
        aud: Option<&str>,
    ) -> Result<Redirect, Error> {
        let endpoint = configuration
            .authorization_endpoint
            .as_deref()
            .ok_or(Error::Forbidden("the source has no authorization endpoint"))?;
        let endpoint = self.http.guard().check(endpoint)?;
        let redirect_uri =
            RedirectUrl::new(redirect_uri.to_owned()).map_err(|_| Error::Forbidden("the redirect URI is no URL"))?;
        let client = BasicClient::new(ClientId::new(registration.client_id.clone()))
            .set_auth_uri(AuthUrl::from_url(endpoint))
            .set_redirect_uri(redirect_uri);
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let nonce = CsrfToken::new_random_len(24).into_secret();
        let scopes = registration.scope.split_ascii_whitespace();
        let openid = registration
            .scope
            .split_ascii_whitespace()
            .any(|scope| scope == "openid");
        let mut request = client
            .authorize_url(|| CsrfToken::new_random_len(32))
            .add_scopes(scopes.map(|scope| Scope::new(scope.to_owned())))
            .set_pkce_challenge(challenge);
        if let Some(aud) = aud {
            request = request.add_extra_param("aud", aud);
        }
        if openid {
            request = request.add_extra_param("nonce", nonce.clone());
        }
        let (url, state) = request.url();
        Ok(Redirect {
            url: url.into(),
            state: state.into_secret(),
            verifier: Verifier {
                code_verifier: verifier.into_secret(),
                nonce,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Guard, HttpLimits};
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn an_authorization_request_has_all_that_smart_asks_for() {
        let client = Client::new(Guard::Public, HttpLimits::default()).unwrap();
        let configuration = Configuration {
            authorization_endpoint: Some("https://payer.example/authorize?tenant=7".to_owned()),
            token_endpoint: "https://payer.example/token".to_owned(),
            ..Configuration::default()
        };
        let registration = Registration {
            client_id: "us".to_owned(),
            client_secret: None,
            scope: "openid launch/patient patient/*.rs".to_owned(),
            client_auth: None,
            secret_at: None,
        };
        let to = "https://records.example/connect/callback/e1";
        let make = || {
            client
                .redirect(&configuration, &registration, to, Some("https://payer.example/fhir"))
                .unwrap()
        };
        let (one, other) = (make(), make());
        let url = url::Url::parse(&one.url).unwrap();
        let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
        assert_eq!(query["tenant"], "7");
        assert_eq!(query["response_type"], "code");
        assert_eq!(query["client_id"], "us");
        assert_eq!(query["redirect_uri"], to);
        assert_eq!(query["aud"], "https://payer.example/fhir");
        assert_eq!(query["scope"], registration.scope);
        assert_eq!(query["state"], one.state);
        assert_eq!(query["nonce"], one.verifier.nonce);
        assert_eq!(query["code_challenge_method"], "S256");
        assert_eq!(query["code_challenge"].len(), 43);
        assert!(one.state.len() >= 43);
        assert!(one.state != other.state && one.verifier != other.verifier);
    }
}
