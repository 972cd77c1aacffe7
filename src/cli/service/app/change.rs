//! Changes an application: its redirect URIs, its origins, and how often its records are synced.

use std::path::PathBuf;

use serde_json::json;

use super::create::frequency;
use crate::cli::service::data_store::{open, refused};
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, SyncFrequency};

/// Where the store is, and whose it is about.
#[derive(Debug, clap::Args)]
pub(super) struct Of {
    /// The application's id
    id: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Register a redirect URI. Authorization codes may then be sent to it
///
/// The application must send exactly the same text. Allowed are https, http on a loopback address (with any port), and
/// private schemes with a dot, such as com.example.app:/callback.
#[derive(Debug, clap::Args)]
pub(super) struct RedirectArgs {
    #[command(flatten)]
    of: Of,
    /// The URI
    uri: String,
}

/// Remove a redirect URI
#[derive(Debug, clap::Args)]
pub(super) struct RemoveRedirectArgs {
    #[command(flatten)]
    of: Of,
    /// The URI
    uri: String,
}

/// Register an origin. Its pages may then embed the link component
#[derive(Debug, clap::Args)]
pub(super) struct OriginArgs {
    #[command(flatten)]
    of: Of,
    /// Scheme, host and port, as https://app.example
    origin: String,
}

/// Remove an origin
#[derive(Debug, clap::Args)]
pub(super) struct RemoveOriginArgs {
    #[command(flatten)]
    of: Of,
    /// The origin
    origin: String,
}

/// Set how often records with lasting access are fetched again
#[derive(Debug, clap::Args)]
pub(super) struct SyncArgs {
    #[command(flatten)]
    of: Of,
    /// off, daily, weekly or monthly
    #[arg(value_parser = frequency)]
    frequency: SyncFrequency,
}

pub(super) fn add_redirect(RedirectArgs { of, uri }: &RedirectArgs) -> Result<(), Failure> {
    let new = open(&of.data)?
        .redirect_uris()
        .add(&of.id, uri, Actor::Operator)
        .map_err(refused)?;
    of.added("redirectUri", uri, new);
    Ok(())
}

pub(super) fn remove_redirect(RemoveRedirectArgs { of, uri }: &RemoveRedirectArgs) -> Result<(), Failure> {
    let was = open(&of.data)?
        .redirect_uris()
        .remove(&of.id, uri, Actor::Operator)
        .map_err(refused)?;
    of.removed(was, ("redirect URI", "redirectUri"), uri)
}

pub(super) fn add_origin(OriginArgs { of, origin }: &OriginArgs) -> Result<(), Failure> {
    let new = open(&of.data)?
        .origins()
        .add(&of.id, origin, Actor::Operator)
        .map_err(refused)?;
    of.added("origin", origin, new);
    Ok(())
}

pub(super) fn remove_origin(RemoveOriginArgs { of, origin }: &RemoveOriginArgs) -> Result<(), Failure> {
    let was = open(&of.data)?
        .origins()
        .remove(&of.id, origin, Actor::Operator)
        .map_err(refused)?;
    of.removed(was, ("origin", "origin"), origin)
}

pub(super) fn set_sync(SyncArgs { of, frequency }: &SyncArgs) -> Result<(), Failure> {
    open(&of.data)?
        .applications()
        .set_sync_frequency(&of.id, *frequency, Actor::Operator)
        .map_err(refused)?;
    if of.json {
        println!("{:#}", json!({"id": of.id, "syncFrequency": frequency}));
    } else {
        println!("{} syncs: {frequency}", of.id);
    }
    Ok(())
}

impl Of {
    /// Prints that `address` is registered. If `new` is `false`, prints that it was registered before. `key` is the
    /// name of the address's property in the JSON output.
    fn added(&self, key: &str, address: &str, new: bool) {
        if self.json {
            println!("{:#}", json!({"id": self.id, key: address, "added": new}));
            return;
        }
        println!(
            "{address} {}",
            if new { "is registered" } else { "was registered already" }
        );
    }

    /// Prints that `address` was removed. Fails if `was` is `false`, because the address was not registered. `what`
    /// says in the error what the address is. `key` is the name of its property in the JSON output.
    fn removed(&self, was: bool, (what, key): (&str, &str), address: &str) -> Result<(), Failure> {
        if !was {
            return Err(Failure::input(format!("{} has no {what} {address:?}", self.id)));
        }
        if self.json {
            println!("{:#}", json!({"id": self.id, key: address, "removed": true}));
        } else {
            println!("{address} is not registered any more");
        }
        Ok(())
    }
}
