//! `app create`: registers an application and prints its keys. Also `app registration-token`: creates a token with
//! which an application can register itself.

use std::path::PathBuf;

use serde_json::json;

use super::keys::{SHOWN_ONCE, format_table};
use super::profile::ProfileArgs;
use crate::cli::service::data_store::{open, open_or_create, refused};
use crate::cli::service::mode::Mode;
use crate::cli::service::token::DEFAULT_BASE_URL;
use crate::cli::terminal::columns::{plain, time};
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, NewApplication, REGISTRATION_SECONDS, Store, SyncFrequency};

/// Register an application, and print its key pairs for test and live mode
///
/// The secret keys are printed only once, because the store keeps only their digests. The folder is made if it does not
/// exist.
///
/// Exit codes: 0 registered; 2 an address may not be registered, or the id is taken; 1 another failure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The name that patients see
    name: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The id that commands use for it [default: made from the name]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Address that authorization codes may be sent to: https, http on a loopback address, or a private scheme with a
    /// dot. May be repeated
    #[arg(long = "redirect-uri", value_name = "URI")]
    redirect_uris: Vec<String>,
    /// Origin of pages that may embed the link component, such as https://app.example. May be repeated
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// How often records with lasting access are fetched again: off, daily, weekly or monthly
    #[arg(long, value_name = "FREQUENCY", value_parser = frequency, default_value = "off")]
    sync: SyncFrequency,
    #[command(flatten)]
    profile: ProfileArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Print an initial access token. One application can register itself for live mode with it
///
/// The application sends it as `Authorization: Bearer ...` to /oauth/register. It works once, for a week. Without such
/// a token applications can register for test mode only.
///
/// With ID, print a registration access token of this application, and where it works. With it, the application reads,
/// changes and ends its registration for one mode (RFC 7592). Earlier such tokens of the application and mode end.
#[derive(Debug, clap::Args)]
pub(super) struct TokenArgs {
    /// The id of an application, for a token that manages it
    id: Option<String>,
    /// The mode of the keys that the token manages
    #[arg(long, value_enum, requires = "id", default_value_t)]
    mode: Mode,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Parses `off`, `daily`, `weekly` or `monthly`.
pub(super) fn frequency(text: &str) -> Result<SyncFrequency, String> {
    SyncFrequency::named(text).ok_or_else(|| "it is off, daily, weekly or monthly".to_owned())
}

/// Registers the application and prints its keys.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    let logo = arguments.profile.logo()?;
    let store = open_or_create(&arguments.data)?;
    let new = NewApplication {
        id: arguments.id.as_deref(),
        name: &arguments.name,
        redirect_uris: &arguments.redirect_uris,
        origins: &arguments.origins,
        sync_frequency: arguments.sync,
        ..NewApplication::default()
    };
    let (made, keys) = store.applications().create(&new, Actor::Operator).map_err(refused)?;
    arguments.profile.apply(&store, &made.id, logo.as_ref().map(Some))?;
    if arguments.json {
        let keys: Vec<_> = keys.iter().map(super::keys::json).collect();
        let object = json!({
            "id": made.id, "name": made.name, "keys": keys, "redirectUris": made.redirect_uris,
            "origins": made.origins, "syncFrequency": made.sync_frequency,
        });
        println!("{object:#}");
        return Ok(());
    }
    println!("Registered {} ({})\n", made.id, plain(&made.name));
    print!("{}", format_table(&keys));
    println!("\n{SHOWN_ONCE}");
    if made.redirect_uris.is_empty() {
        println!(
            "It has no redirect URI yet: tabularium app add-redirect {} URI",
            made.id
        );
    }
    Ok(())
}

/// Creates an initial access token for registration, or a registration access token, and prints it.
pub(super) fn registration_token(arguments: &TokenArgs) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    if let Some(id) = &arguments.id {
        return managing_token(&store, id, arguments);
    }
    let token = store.registration_tokens().create(Actor::Operator).map_err(refused)?;
    if arguments.json {
        let until = time(store.clock().now() + REGISTRATION_SECONDS);
        println!("{:#}", json!({"token": token, "expiresAt": until}));
    } else {
        println!("{token}");
    }
    Ok(())
}

/// Creates a registration access token of an application for one mode, and prints it with its address.
fn managing_token(store: &Store, id: &str, arguments: &TokenArgs) -> Result<(), Failure> {
    let registrations = store.managed_registrations();
    let mode = arguments.mode.into();
    let token = registrations.create_token(id, mode, Actor::Operator).map_err(refused)?;
    let client = store.clients().of(id, mode).map_err(refused)?;
    let base_url = store.settings().base_url().map_err(Failure::other)?;
    let base_url = base_url.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
    let uri = format!("{}/oauth/register/{}", base_url.trim_end_matches('/'), client.id);
    if arguments.json {
        let object = json!({"clientId": client.id, "registrationClientUri": uri, "registrationAccessToken": token});
        println!("{object:#}");
    } else {
        println!("registration client URI    {uri}\nregistration access token  {token}");
    }
    Ok(())
}
