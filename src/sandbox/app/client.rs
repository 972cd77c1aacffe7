//! The application's calls to the service: tokens, introspection, revocation, searches.

use std::time::Duration;

use axum::body::Bytes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

/// The timeout of a call to the service.
const PATIENCE: Duration = Duration::from_secs(60);

const LINKS: &str = "/rest/health-links";

/// The application's settings: the service that it is registered with, its keys, and its own address.
#[derive(Clone)]
pub struct AppSettings {
    /// The service's address, without a trailing slash.
    pub service: String,
    /// The application's publishable key.
    pub publishable_key: String,
    /// The application's secret key.
    pub secret_key: String,
    /// The application's own public address, without a trailing slash.
    pub base_url: String,
}

impl std::fmt::Debug for AppSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppSettings")
            .field("service", &self.service)
            .field("publishable_key", &self.publishable_key)
            .finish_non_exhaustive()
    }
}

/// The service's API that issued a token: OAuth, or the API of the link component. The same API introspects, refreshes
/// and revokes the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Oauth,
    Link,
}

/// An answer of the service.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The seconds of the header `X-Retry-After` or `Retry-After`.
    pub(super) wait: Option<u64>,
    pub(super) body: Value,
}

/// A file from the service.
pub(super) struct File {
    /// The file's `Content-Disposition`, if the service sends one.
    pub(super) name: Option<HeaderValue>,
    pub(super) bytes: Bytes,
}

/// The error of a call to which the service did not answer.
#[derive(Debug, thiserror::Error)]
#[error("the service did not answer: {0}")]
pub(super) struct Unreachable(#[from] reqwest::Error);

/// A client of the service.
pub(super) struct Client {
    http: reqwest::Client,
    pub(super) settings: AppSettings,
}

impl Client {
    pub(super) fn new(settings: AppSettings) -> Result<Client, reqwest::Error> {
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
        Ok(Client { http, settings })
    }

    /// Returns the redirect URI of the authorization request.
    pub(super) fn redirect_uri(&self) -> String {
        format!("{}/app/callback", self.settings.base_url)
    }

    /// Exchanges an authorization code for tokens.
    pub(super) async fn exchange_code(&self, code: &str, verifier: &str) -> Result<Answer, Unreachable> {
        let redirect_uri = self.redirect_uri();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri.as_str()),
            ("code_verifier", verifier),
            ("client_id", self.settings.publishable_key.as_str()),
        ];
        self.send(self.http.post(self.at("/oauth/token")).form(&form)).await
    }

    /// Exchanges the public token of the link component for tokens.
    pub(super) async fn exchange_public_token(&self, token: &str) -> Result<Answer, Unreachable> {
        let body = json!({"public_token": token, "secret_key": self.settings.secret_key});
        self.send(self.http.post(self.at("/link/exchange")).json(&body)).await
    }

    /// Refreshes an access token.
    pub(super) async fn refresh(&self, way: Way, refresh_token: &str) -> Result<Answer, Unreachable> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
        let request = self.http.post(self.at(way.paths()[0])).form(&form);
        self.send(request.header(AUTHORIZATION, self.basic())).await
    }

    /// Introspects an access token.
    pub(super) async fn introspect(&self, way: Way, token: &str) -> Result<Answer, Unreachable> {
        self.send(self.http.get(self.at(way.paths()[1])).bearer_auth(token))
            .await
    }

    /// Revokes the consent that an access token belongs to.
    pub(super) async fn revoke(&self, way: Way, token: &str) -> Result<Answer, Unreachable> {
        let body = json!({"secret_key": self.settings.secret_key});
        let request = self.http.post(self.at(way.paths()[2])).json(&body);
        self.send(request.bearer_auth(token)).await
    }

    /// Reads a resource or searches. `query` is the part of the address after `/fhir/`.
    pub(super) async fn fhir(&self, token: &str, query: &str) -> Result<Answer, Unreachable> {
        let request = self.http.get(self.at(&format!("/fhir/{query}"))).bearer_auth(token);
        self.send(request.header(ACCEPT, "application/fhir+json")).await
    }

    /// Reads a file. `query` is the part of the address after `/fhir/`. If the status is not 200, returns the answer in
    /// place of a file.
    pub(super) async fn file(
        &self,
        token: &str,
        query: &str,
        content_type: &str,
    ) -> Result<Result<File, Answer>, Unreachable> {
        let request = self.http.get(self.at(&format!("/fhir/{query}"))).bearer_auth(token);
        let response = request.header(ACCEPT, content_type).send().await?;
        if response.status() != StatusCode::OK {
            return Ok(Err(answer(response).await?));
        }
        Ok(Ok(File {
            name: response.headers().get(CONTENT_DISPOSITION).cloned(),
            bytes: response.bytes().await?,
        }))
    }

    /// Calls an operation with its parameters. `path` is the part of the address after `/fhir/`.
    pub(super) async fn operation(&self, token: &str, path: &str, parameters: &Value) -> Result<Answer, Unreachable> {
        let request = self.http.post(self.at(&format!("/fhir/{path}"))).bearer_auth(token);
        let fhir = "application/fhir+json";
        let request = request.header(ACCEPT, fhir).header(CONTENT_TYPE, fhir);
        self.send(request.body(parameters.to_string())).await
    }

    /// Lists the health links of the token's consent.
    pub(super) async fn links(&self, token: &str) -> Result<Answer, Unreachable> {
        self.send(self.http.get(self.at(LINKS)).bearer_auth(token)).await
    }

    /// Creates a health link.
    pub(super) async fn make_link(&self, token: &str, asked: &Value) -> Result<Answer, Unreachable> {
        self.send(self.http.post(self.at(LINKS)).bearer_auth(token).json(asked))
            .await
    }

    /// Revokes a health link.
    pub(super) async fn end_link(&self, token: &str, id: &str) -> Result<Answer, Unreachable> {
        let request = self.http.delete(self.at(&format!("{LINKS}/{id}")));
        self.send(request.bearer_auth(token)).await
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.settings.service)
    }

    /// Returns the `Authorization` header with the publishable key and the secret key. Both are form-encoded, as RFC
    /// 6749 requires.
    fn basic(&self) -> String {
        let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let (key, secret) = (&self.settings.publishable_key, &self.settings.secret_key);
        format!(
            "Basic {}",
            STANDARD.encode(format!("{}:{}", encoded(key), encoded(secret)))
        )
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, Unreachable> {
        answer(request.send().await?).await
    }
}

async fn answer(response: reqwest::Response) -> Result<Answer, Unreachable> {
    let wait = ["x-retry-after", "retry-after"].iter().find_map(|name| {
        let value = response.headers().get(*name)?;
        value.to_str().ok()?.parse().ok()
    });
    let status = response.status().as_u16();
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answer { status, wait, body })
}

impl Way {
    /// Returns the paths of the service's token, introspection and revocation endpoints.
    fn paths(self) -> [&'static str; 3] {
        match self {
            Way::Oauth => ["/oauth/token", "/oauth/introspect", "/oauth/revoke"],
            Way::Link => ["/link/token", "/link/introspect", "/link/revoke"],
        }
    }
}
