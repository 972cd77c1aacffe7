//! Checks the metadata of a client's registration (RFC 7591, section 2), and decides which values are registered. A
//! client gets all grants, response types and scopes that its keys and redirect URIs permit. The service registers them
//! in place of those that the client requested (section 3.2.1).

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::own::Own;
use crate::consent::ManagedRegistration;
use crate::http::oauth::error::OAuthError;

/// The scopes that every client with a redirect URI gets.
const SCOPES: [&str; 2] = ["launch/patient", "offline_access"];
const GRANT_TYPES: [&str; 3] = ["authorization_code", "refresh_token", "client_credentials"];
/// Optional metadata with the URLs of web pages.
const PAGES: [&str; 4] = ["client_uri", "logo_uri", "tos_uri", "policy_uri"];
/// Optional strings that are stored and returned unchanged.
const TEXTS: [&str; 2] = ["software_id", "software_version"];
/// The maximum number of items in an array of the metadata, such as `redirect_uris` or `contacts`.
const MAX_ITEMS: usize = 50;

/// A client's registered metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Metadata {
    pub(super) redirect_uris: Vec<String>,
    token_endpoint_auth_method: &'static str,
    grant_types: Vec<&'static str>,
    response_types: Vec<&'static str>,
    pub(super) client_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    /// The members that only this service has.
    #[serde(flatten)]
    pub(super) own: Own,
    /// The client's values for [`PAGES`], [`TEXTS`] and `contacts`.
    #[serde(flatten)]
    more: Map<String, Value>,
}

impl Metadata {
    /// Reads and checks the metadata of a registration. Unknown members are ignored (RFC 7591, section 2).
    pub(super) fn of(object: &Map<String, Value>) -> Result<Metadata, OAuthError> {
        let method = match text(object, "token_endpoint_auth_method")? {
            None | Some("client_secret_basic") => "client_secret_basic",
            Some("client_secret_post") => "client_secret_post",
            Some("none") => "none",
            Some(_) => {
                return Err(wrong(
                    "token_endpoint_auth_method",
                    "must be client_secret_basic, client_secret_post or none",
                ));
            }
        };
        let grant_types = texts(object, "grant_types")?.unwrap_or_else(|| vec!["authorization_code".to_owned()]);
        if grant_types.iter().any(|one| !GRANT_TYPES.contains(&one.as_str())) {
            return Err(wrong(
                "grant_types",
                "may be authorization_code, refresh_token and client_credentials",
            ));
        }
        let wants = |grant: &str| grant_types.iter().any(|one| one == grant);
        if method == "none" && wants("client_credentials") {
            return Err(wrong(
                "grant_types",
                "has client_credentials, which is not for clients without a secret",
            ));
        }
        let by_code = wants("authorization_code");
        let default = if by_code { vec!["code".to_owned()] } else { Vec::new() };
        let response_types = texts(object, "response_types")?.unwrap_or(default);
        if response_types.iter().any(|one| one != "code") || by_code == response_types.is_empty() {
            return Err(wrong(
                "response_types",
                "must be code for authorization_code, and empty without it",
            ));
        }
        let redirect_uris = texts(object, "redirect_uris")?.unwrap_or_default();
        if by_code && redirect_uris.is_empty() {
            return Err(OAuthError::RedirectUri(
                "a client of authorization_code needs redirect_uris".to_owned(),
            ));
        }
        text(object, "scope")?;
        if redirect_uris.is_empty() && method == "none" {
            return Err(OAuthError::RedirectUri(
                "a client without a secret needs redirect_uris".to_owned(),
            ));
        }
        let name = text(object, "client_name")?.unwrap_or("Unnamed application").to_owned();
        Ok(Metadata::with(
            redirect_uris,
            method,
            name,
            Own::of(object)?,
            more(object)?,
        ))
    }

    /// Returns the metadata of a stored registration. The application's own columns count before the metadata that it
    /// sent, because commands change them, too.
    pub(super) fn stored(registration: &ManagedRegistration) -> Metadata {
        let ManagedRegistration { application, key } = registration;
        let sent: Map<String, Value> = application
            .registration
            .as_deref()
            .and_then(|sent| serde_json::from_str(sent).ok())
            .unwrap_or_default();
        let method = match sent.get("token_endpoint_auth_method").and_then(Value::as_str) {
            _ if !key.confidential => "none",
            Some("client_secret_post") => "client_secret_post",
            _ => "client_secret_basic",
        };
        Metadata::with(
            application.redirect_uris.clone(),
            method,
            application.name.clone(),
            Own::stored(registration),
            more(&sent).unwrap_or_default(),
        )
    }

    /// Adds the grants, response types and scopes that the client can use.
    fn with(
        redirect_uris: Vec<String>,
        method: &'static str,
        client_name: String,
        own: Own,
        more: Map<String, Value>,
    ) -> Metadata {
        let by_code = !redirect_uris.is_empty();
        Metadata {
            redirect_uris,
            token_endpoint_auth_method: method,
            grant_types: granted(by_code, method != "none"),
            response_types: if by_code { vec!["code"] } else { Vec::new() },
            client_name,
            scope: by_code.then(|| SCOPES.join(" ")),
            own,
            more,
        }
    }

    /// Whether the client gets a secret key.
    pub(super) fn is_confidential(&self) -> bool {
        self.token_endpoint_auth_method != "none"
    }
}

/// Returns the grant types that a client can use. `by_code`: whether it has a redirect URI. `confidential`: whether
/// it has a secret key.
fn granted(by_code: bool, confidential: bool) -> Vec<&'static str> {
    let possible = [
        ("authorization_code", by_code),
        ("refresh_token", by_code),
        ("client_credentials", confidential),
    ];
    let granted = possible.into_iter().filter(|(_, granted)| *granted);
    granted.map(|(grant, _)| grant).collect()
}

fn more(object: &Map<String, Value>) -> Result<Map<String, Value>, OAuthError> {
    let mut more = Map::new();
    for name in PAGES {
        if let Some(page) = text(object, name)? {
            let is_page = Url::parse(page).is_ok_and(|url| matches!(url.scheme(), "https" | "http"));
            if !is_page {
                return Err(wrong(name, "must be the address of a page"));
            }
            more.insert(name.to_owned(), page.into());
        }
    }
    for name in TEXTS {
        if let Some(text) = text(object, name)? {
            more.insert(name.to_owned(), text.into());
        }
    }
    if let Some(contacts) = texts(object, "contacts")? {
        more.insert("contacts".to_owned(), contacts.into());
    }
    Ok(more)
}

pub(super) fn text<'o>(object: &'o Map<String, Value>, name: &str) -> Result<Option<&'o str>, OAuthError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(name, "must be a string")),
    }
}

fn texts(object: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, OAuthError> {
    let list = match object.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) if list.len() <= MAX_ITEMS => list,
        Some(_) => return Err(wrong(name, "must be an array of at most 50 strings")),
    };
    let texts: Option<Vec<String>> = list.iter().map(|one| Some(one.as_str()?.to_owned())).collect();
    texts
        .map(Some)
        .ok_or_else(|| wrong(name, "must be an array of strings"))
}

pub(super) fn wrong(name: &str, problem: &str) -> OAuthError {
    let told = format!("{name} {problem}");
    match name {
        "redirect_uris" => OAuthError::RedirectUri(told),
        _ => OAuthError::Metadata(told),
    }
}
