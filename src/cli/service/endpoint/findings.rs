//! Stores the capabilities that were found at a source, under the source's endpoint, and formats them for the operator.

use url::Url;

use super::source::Found;
use crate::cli::terminal::columns::{plain, time};
use crate::cli::terminal::failure::Failure;
use crate::consent::{ClientAuth, Endpoint, Store};
use crate::sync::client::{Realm, SecretTried};

/// The maximum number of resource types in a list for the operator.
const NAMED: usize = 8;

/// Stores the source's capabilities, and how the source accepts the client secret. Returns both as lines of text,
/// followed by the lines of [`known`].
pub(super) fn remember(store: &Store, endpoint: &Endpoint, found: &Found) -> Result<Vec<String>, Failure> {
    store
        .dialects()
        .set_statement(&endpoint.id, &found.stored_statement()?)
        .map_err(Failure::other)?;
    if let Some(SecretTried::Taken(how)) = &found.secret {
        store
            .dialects()
            .set_client_auth(&endpoint.id, *how)
            .map_err(Failure::other)?;
    }
    let mut lines = said(found);
    lines.extend(known(store, endpoint, Some(found))?);
    Ok(lines)
}

fn said(found: &Found) -> Vec<String> {
    let statement = &found.statement;
    let searched = statement.types.values().filter(|served| served.search).count();
    let only_read = statement
        .types
        .iter()
        .filter(|(_, served)| served.read && !served.search);
    let only_read: Vec<&str> = only_read.map(|(name, _)| name.as_str()).collect();
    let mut types = format!(
        "FHIR {}: {searched} resource types can be searched",
        statement.fhir_version
    );
    if !only_read.is_empty() {
        types.push_str(&format!(
            ", {} are read by id only ({})",
            only_read.len(),
            listed(&only_read)
        ));
    }
    let mut lines = vec![types];
    if statement.types.values().any(|served| served.provenance) {
        lines.push("Provenance comes along with searches".to_owned());
    }
    lines.extend(found.secret.as_ref().map(|tried| match tried {
        SecretTried::Taken(ClientAuth::Basic) => {
            "the client secret goes in the header, encoded as RFC 6749 says".to_owned()
        }
        SecretTried::Taken(ClientAuth::PlainBasic) => "the client secret goes in the header, as it is".to_owned(),
        SecretTried::Taken(ClientAuth::Post) => "the client secret goes in the body".to_owned(),
        SecretTried::Refused => "it refuses the client id and secret, in the header and in the body".to_owned(),
        SecretTried::Untold(why) => format!("whether it takes the client id and secret could not be told: {why}"),
    }));
    lines
}

/// Returns lines of text about the endpoint's page size, about pages outside of its FHIR base, and about the last error
/// with which it sent a patient back. They contain advice for the operator. `found` is `None` if the source did not
/// answer.
pub(super) fn known(store: &Store, endpoint: &Endpoint, found: Option<&Found>) -> Result<Vec<String>, Failure> {
    let dialect = store.dialects().get(&endpoint.id).map_err(Failure::other)?;
    let pages = store.endpoints().pages(&endpoint.id).map_err(Failure::other)?;
    let mut lines = Vec::new();
    match dialect.page_size {
        None => {}
        Some(0) => lines.push("it takes no _count".to_owned()),
        Some(size) => lines.push(format!("it takes pages of {size}")),
    }
    let configure = |at: &str| {
        let base = &endpoint.fhir_base;
        format!("if that is the source's, add it again with --pages-at: endpoint add {base} --pages-at {at} ...")
    };
    let realm = Realm::under(pages.iter().map(String::as_str).chain([endpoint.fhir_base.as_str()]));
    let is_own = |address: &str| Url::parse(address).is_ok_and(|url| realm.own(&url).is_some());
    let called = found.and_then(|found| found.statement.url.as_deref());
    if let Some(origin) = &dialect.elsewhere {
        lines.push(format!(
            "a next page was at {}, outside of its FHIR base: {}",
            plain(origin),
            configure(&plain(origin))
        ));
    } else if let Some(address) = called.filter(|address| Url::parse(address).is_ok() && !is_own(address)) {
        lines.push(format!(
            "it says that its FHIR base is {}: {}",
            plain(address),
            configure(&plain(address))
        ));
    }
    if let Some((code, at)) = &dialect.last_error {
        let (code, at) = (plain(code), time(*at));
        lines.push(format!(
            "it last sent a patient back with the error {code}, at {at}: {}",
            meaning(&code)
        ));
    }
    Ok(lines)
}

/// Returns what the `error` code of an authorization endpoint means for the operator.
fn meaning(code: &str) -> &'static str {
    match code {
        "access_denied" | "consent_required" | "interaction_required" | "login_required" => {
            "the patient did not agree there"
        }
        "unauthorized_client" | "invalid_client" => "the client id is not registered there, or not for this",
        "invalid_scope" => "it does not know a scope that it was asked for (endpoint add --scope)",
        "invalid_request" | "unsupported_response_type" => {
            "it did not take the request; the redirect URI may not be registered there"
        }
        "server_error" | "temporarily_unavailable" => "it was out of order",
        _ => "the source's documents say what it means",
    }
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| plain(name)).collect();
    if names.len() > NAMED {
        format!("{}, …", shown.join(", "))
    } else {
        shown.join(", ")
    }
}
