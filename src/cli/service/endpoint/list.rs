//! `endpoint list`: lists the sources.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::service::data_store::open;
use crate::cli::service::mode::Mode;
use crate::cli::terminal::columns::{listed, time};
use crate::cli::terminal::failure::Failure;
use crate::consent::Endpoint;
use crate::lake;

/// List the sources of the directory
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Only those of one mode
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Prints the list, as a table or as JSON.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let mode = arguments.mode.map(lake::Mode::from);
    let endpoints = open(&arguments.data)?.endpoints().all(mode).map_err(Failure::other)?;
    if arguments.json {
        let list: Vec<Value> = endpoints.iter().map(object).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let rows: Vec<[String; 7]> = endpoints.iter().map(row).collect();
    print!(
        "{}",
        listed(
            ["id", "name", "mode", "type", "status", "refreshable", "checked"],
            &rows
        )
    );
    Ok(())
}

fn row(endpoint: &Endpoint) -> [String; 7] {
    [
        endpoint.id.clone(),
        endpoint.name.clone(),
        endpoint.mode.schema().to_owned(),
        endpoint.authorization_type.to_string(),
        endpoint.status.to_string(),
        if endpoint.refreshable { "yes" } else { "no" }.to_owned(),
        endpoint.checked_at.map_or_else(|| "never".to_owned(), time),
    ]
}

fn object(endpoint: &Endpoint) -> Value {
    json!({
        "id": endpoint.id, "name": endpoint.name, "mode": endpoint.mode.schema(), "label": endpoint.label,
        "organization": {"id": endpoint.organization.id, "name": endpoint.organization.name},
        "type": endpoint.authorization_type, "status": endpoint.status, "refreshable": endpoint.refreshable,
        "refreshValidFor": endpoint.refresh_valid_for, "maxAuthPeriod": endpoint.max_auth_period,
        "resources": endpoint.resources, "fhirBase": endpoint.fhir_base, "clientId": endpoint.client_id,
        "confidential": endpoint.confidential, "scope": endpoint.scope,
        "identifierSystem": endpoint.identifier_system, "createdAt": time(endpoint.created_at),
        "checkedAt": endpoint.checked_at.map(time),
    })
}
