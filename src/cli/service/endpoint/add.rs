//! `endpoint add`: reads a source's SMART configuration and adds the source to the directory.

use std::path::PathBuf;

use serde_json::json;
use url::Url;
use uuid::Uuid;

use super::findings::remember;
use super::source::{Found, fhir_base, secret};
use crate::cli::service::data_store::{open, open_or_create, refused};
use crate::cli::service::mode::Mode;
use crate::cli::service::token::DEFAULT_BASE_URL;
use crate::cli::terminal::columns::plain;
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, AuthorizationType, Endpoint, EndpointStatus, NewEndpoint, Organization, Store};
use crate::sync::client::{Realm, Registration};

/// Add a source by its SMART configuration, or change the source with the same FHIR base
///
/// The command reads the source's SMART configuration. It prints the redirect URI to register at the source. The folder
/// is made if it does not exist.
///
/// Exit codes: 0 added; 2 the source cannot be reached or is no FHIR R4 source with SMART, its token endpoint is at
/// another origin and --token-endpoint does not name it, the name is taken, or a portal was given lasting access; 1
/// another failure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address of the source's SMART configuration, or its FHIR base
    url: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The client id that the source has given the service
    #[arg(long, value_name = "ID")]
    client_id: String,
    /// File with the client secret that the source has given the service, if any
    #[arg(long, value_name = "FILE")]
    client_secret_file: Option<PathBuf>,
    /// Unique name for machines [default: the first label, or the source's host]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Name that patients know, of a payer or a brand; may be repeated [default: the name]
    #[arg(long = "label", value_name = "TEXT")]
    labels: Vec<String>,
    /// Name of the organization that runs it [default: the first label]
    #[arg(long, value_name = "NAME")]
    organization: Option<String>,
    /// Kind of organization
    #[arg(long, value_name = "TYPE", default_value = "PAYER")]
    organization_type: String,
    /// Text about the plans that the organization supports
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// Whether it has live or test records
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// How its patients authorize: oauth; credentials (a patient portal, which they sign in to each time); ial1 or ial2
    /// (a place without such a page, found by a record locator)
    #[arg(long = "type", value_name = "TYPE", value_parser = authorization_type, default_value = "oauth")]
    authorization_type: AuthorizationType,
    /// Whether access lasts without the patient [default: what the source says; never at a portal]
    #[arg(long, value_name = "true|false")]
    refreshable: Option<bool>,
    /// Seconds for which access can be refreshed; 0 means without end [default: unknown]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..))]
    refresh_valid_for: Option<i64>,
    /// Seconds for which an authorization lasts at most; 0 means without end [default: unknown]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..))]
    max_auth_period: Option<i64>,
    /// Scopes to ask for [default: launch/patient patient/*.read, and offline_access where it is refreshable]
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// The system of the identifiers that its records get [default: its FHIR base]
    #[arg(long, value_name = "URI")]
    identifier_system: Option<String>,
    /// Another address at which the source has further pages, outside of its FHIR base; may be repeated. The patient's
    /// access token is sent there as well
    #[arg(long = "pages-at", value_name = "URL")]
    pages_at: Vec<String>,
    /// Address of its token endpoint, if that is at another origin than its FHIR base. The service's secret is sent
    /// there
    #[arg(long, value_name = "URL")]
    token_endpoint: Option<String>,
    /// Allow a source at a loopback or private address, and without TLS
    #[arg(long)]
    allow_private_sources: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn authorization_type(text: &str) -> Result<AuthorizationType, String> {
    let authorization_type = AuthorizationType::named(&text.to_ascii_uppercase());
    authorization_type.ok_or_else(|| "it is oauth, credentials, ial1 or ial2".to_owned())
}

/// Fails if the arguments request lasting access to a portal, because patients sign in to a portal each time.
fn portal_for_once(arguments: &Args) -> Result<(), Failure> {
    if arguments.authorization_type != AuthorizationType::Credentials {
        return Ok(());
    }
    let scope = arguments.scope.as_deref().unwrap_or_default();
    let problem = if arguments.refreshable == Some(true) {
        "cannot be refreshable"
    } else if scope.split_ascii_whitespace().any(|scope| scope == "offline_access") {
        "cannot be asked for offline_access"
    } else {
        return Ok(());
    };
    Err(Failure::input(format!(
        "an endpoint of type CREDENTIALS {problem}: patients sign in there each time"
    )))
}

/// Queries the source, and stores it with its organization.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    portal_for_once(arguments)?;
    let base = fhir_base(&arguments.url);
    let client_secret = secret(arguments.client_secret_file.as_deref())?;
    let agreed = agreed(arguments, base)?;
    let registration = Registration {
        client_id: arguments.client_id.clone(),
        client_secret: client_secret.clone(),
        scope: String::new(),
        client_auth: None,
        secret_at: Some(Realm::origins([base].into_iter().chain(agreed.as_deref()))),
    };
    let found = Found::at(base, arguments.allow_private_sources, &registration)
        .map_err(|error| Failure::input(format!("{base} cannot be added: {error}")))?;
    if found.statement.fhir_version.is_empty() {
        return Err(Failure::input(format!(
            "{base} cannot be added: it does not say which FHIR it speaks, and only R4 is read"
        )));
    }
    let store = open_or_create(&arguments.data)?;
    let host = Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned));
    let brand = arguments.labels.first();
    let name = arguments.name.clone().or(brand.cloned()).or(host);
    let name = name.unwrap_or_else(|| base.to_owned());
    let title = arguments.organization.as_ref().or(brand);
    let organization = organization(&store, arguments, title.unwrap_or(&name))?;
    // A source that a record locator finds (IAL1, IAL2) issues no refresh token. It counts as refreshable, because the
    // service can request access there again without a login.
    let located = matches!(
        arguments.authorization_type,
        AuthorizationType::Ial1 | AuthorizationType::Ial2
    );
    let portal = arguments.authorization_type == AuthorizationType::Credentials;
    let says = || located || (!portal && found.grants_offline());
    let refreshable = arguments.refreshable.unwrap_or_else(says);
    let usual = found.scope(refreshable && !located);
    let known = store
        .endpoints()
        .by_base(arguments.mode.into(), base)
        .map_err(Failure::other)?;
    let new = NewEndpoint {
        id: known.as_ref().map(|endpoint| endpoint.id.as_str()),
        organization: &organization.id,
        name: &name,
        mode: arguments.mode.into(),
        label: &arguments.labels,
        authorization_type: arguments.authorization_type,
        refreshable,
        refresh_valid_for: arguments.refresh_valid_for,
        max_auth_period: arguments.max_auth_period,
        status: known
            .as_ref()
            .map_or(EndpointStatus::Available, |endpoint| endpoint.status),
        resources: &found.resources(),
        fhir_base: base,
        configuration: Some(&found.stored()?),
        client_id: &arguments.client_id,
        client_secret: client_secret.as_deref(),
        scope: arguments.scope.as_deref().unwrap_or(&usual),
        identifier_system: arguments.identifier_system.as_deref().unwrap_or(base),
    };
    let endpoint = store
        .endpoints()
        .save_source(&organization, &new, Actor::Operator)
        .map_err(refused)?;
    store
        .endpoints()
        .set_pages(&endpoint.id, &arguments.pages_at, Actor::Operator)
        .map_err(refused)?;
    if let Some(address) = &arguments.token_endpoint {
        store
            .endpoints()
            .set_token_endpoint(&endpoint.id, address, Actor::Operator)
            .map_err(refused)?;
    }
    let lines = remember(&store, &endpoint, &found)?;
    report(&store, &endpoint, known.is_some(), &lines, arguments.json)
}

/// Returns the address of `--token-endpoint`. Without this option, returns the address that an earlier `endpoint add`
/// stored for this source. The client secret may be sent to it, although it is not at the origin of the FHIR base.
/// `None` if no address is given or stored.
fn agreed(arguments: &Args, base: &str) -> Result<Option<String>, Failure> {
    if arguments.token_endpoint.is_some() || !arguments.data.join("service.sqlite").is_file() {
        return Ok(arguments.token_endpoint.clone());
    }
    let store = open(&arguments.data)?;
    let known = store
        .endpoints()
        .by_base(arguments.mode.into(), base)
        .map_err(Failure::other)?;
    let dialect = known.map(|known| store.dialects().get(&known.id)).transpose();
    Ok(dialect
        .map_err(Failure::other)?
        .and_then(|dialect| dialect.token_endpoint))
}

/// Builds the organization `name` from the arguments. It gets the id of the stored organization with this name, or a
/// new id if none is stored.
fn organization(store: &Store, arguments: &Args, name: &str) -> Result<Organization, Failure> {
    let all = store.organizations().all().map_err(Failure::other)?;
    let known = all.into_iter().find(|organization| organization.name == name);
    Ok(Organization {
        id: known.map_or_else(|| Uuid::new_v4().to_string(), |known| known.id),
        name: name.to_owned(),
        note: arguments.note.clone(),
        organization_type: arguments.organization_type.clone(),
    })
}

fn report(store: &Store, endpoint: &Endpoint, changed: bool, lines: &[String], as_json: bool) -> Result<(), Failure> {
    let base_url = store.settings().base_url().map_err(Failure::other)?;
    let redirect_uri = format!(
        "{}/connect/callback/{}",
        base_url.as_deref().unwrap_or(DEFAULT_BASE_URL),
        endpoint.id
    );
    if as_json {
        let object = json!({
            "id": endpoint.id, "name": endpoint.name, "mode": endpoint.mode.schema(),
            "refreshable": endpoint.refreshable, "resources": endpoint.resources, "redirectUri": redirect_uri,
            "found": lines,
        });
        println!("{object:#}");
        return Ok(());
    }
    let done = if changed { "Changed" } else { "Added" };
    let lasting = if endpoint.refreshable {
        "refreshable"
    } else {
        "not refreshable"
    };
    let (id, name, types) = (&endpoint.id, plain(&endpoint.name), endpoint.resources.len());
    println!("{done} {name} as {id}: {lasting}, {types} resource types");
    for line in lines {
        println!("  {line}");
    }
    println!("Register this redirect URI at the source: {redirect_uri}");
    if base_url.is_none() {
        println!("(its beginning is the server's base address, which no serve on this folder has said yet)");
    }
    Ok(())
}
