//! `endpoint identity-provider` and `endpoint record-locator`: store an identity provider, and the address of the
//! record locator, which finds the facilities with a person's records.

use std::path::PathBuf;

use serde_json::json;

use super::source::secret;
use crate::cli::service::data_store::{open_or_create, refused};
use crate::cli::service::mode::Mode;
use crate::cli::terminal::columns::plain;
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, IdentityProvider};
use crate::lake;

/// Add an identity provider (OpenID Connect), or change the one of its code
#[derive(Debug, clap::Args)]
pub(super) struct ProviderArgs {
    /// By which authorizations name it
    code: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// What patients know it by
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Its issuer, under which its OpenID configuration is found
    #[arg(long, value_name = "URL")]
    issuer: String,
    /// What the service is called there
    #[arg(long, value_name = "ID")]
    client_id: String,
    /// File that holds the service's secret there, if it has one
    #[arg(long, value_name = "FILE")]
    client_secret_file: Option<PathBuf>,
    /// For live or test consents
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Set the service that finds the facilities with a person's records
#[derive(Debug, clap::Args)]
pub(super) struct LocatorArgs {
    /// Address of the record locator
    url: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// For live or test consents
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Stores the identity provider.
pub(super) fn save_provider(arguments: &ProviderArgs) -> Result<(), Failure> {
    let client_secret = secret(arguments.client_secret_file.as_deref())?;
    let provider = IdentityProvider {
        code: arguments.code.clone(),
        mode: arguments.mode.into(),
        name: arguments.name.clone(),
        issuer: arguments.issuer.clone(),
        client_id: arguments.client_id.clone(),
    };
    open_or_create(&arguments.data)?
        .identity_providers()
        .save(&provider, client_secret.as_deref(), Actor::Operator)
        .map_err(refused)?;
    if arguments.json {
        let object = json!({
            "code": provider.code, "mode": provider.mode.schema(), "name": provider.name, "issuer": provider.issuer,
        });
        println!("{object:#}");
    } else {
        println!("{} verifies identities", plain(&provider.name));
    }
    Ok(())
}

/// Stores the address of the record locator.
pub(super) fn save_locator(arguments: &LocatorArgs) -> Result<(), Failure> {
    let mode = lake::Mode::from(arguments.mode);
    open_or_create(&arguments.data)?
        .record_locators()
        .set(mode, &arguments.url, Actor::Operator)
        .map_err(refused)?;
    if arguments.json {
        println!("{:#}", json!({"recordLocator": arguments.url, "mode": mode.schema()}));
    } else {
        println!("Facilities are looked up at {}", plain(&arguments.url));
    }
    Ok(())
}
