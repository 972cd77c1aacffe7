//! `endpoint check`: checks whether sources still answer as SMART on FHIR sources do. Also `endpoint set-status`: sets
//! an endpoint's status.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::findings::{known, remember};
use super::source::Found;
use crate::cli::service::data_store::{open, refused};
use crate::cli::terminal::columns::plain;
use crate::cli::terminal::failure::Failure;
use crate::consent::{Actor, Endpoint, EndpointStatus};
use crate::sync::client::{Realm, Registration};

/// Ask one source, or all, for their capabilities, store these, and print what was found
///
/// Exit codes: 0 all answer; 3 some do not, or there is no source; 2 there is no source with this id; 1 another
/// failure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The endpoint's id [default: all]
    id: Option<String>,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Allow sources at loopback or private addresses, and without TLS
    #[arg(long)]
    allow_private_sources: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Set how well a source works; patients do not see UNAVAILABLE ones
#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// The endpoint's id
    id: String,
    /// AVAILABLE, USER_VALIDATED, LIVE or UNAVAILABLE
    #[arg(value_parser = status)]
    status: EndpointStatus,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn status(text: &str) -> Result<EndpointStatus, String> {
    let status = EndpointStatus::named(&text.to_ascii_uppercase());
    status.ok_or_else(|| "it is AVAILABLE, USER_VALIDATED, LIVE or UNAVAILABLE".to_owned())
}

/// Queries the sources, stores their capabilities, and prints what was found. Fails with exit code 3 if a source does
/// not answer, or if there is no source.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let endpoints: Vec<Endpoint> = match &arguments.id {
        None => store.endpoints().all(None).map_err(Failure::other)?,
        Some(id) => vec![
            store
                .endpoints()
                .get(id)
                .map_err(Failure::other)?
                .ok_or_else(|| unknown(id))?,
        ],
    };
    let mut list: Vec<Value> = Vec::new();
    let mut failed = 0;
    for endpoint in &endpoints {
        let dialect = store.dialects().get(&endpoint.id).map_err(Failure::other)?;
        let agreed = dialect.token_endpoint.as_deref();
        let registration = Registration {
            client_id: endpoint.client_id.clone(),
            client_secret: store.endpoints().secret(&endpoint.id).map_err(Failure::other)?,
            scope: String::new(),
            client_auth: None,
            secret_at: Some(Realm::origins([endpoint.fhir_base.as_str()].into_iter().chain(agreed))),
        };
        let found = Found::at(&endpoint.fhir_base, arguments.allow_private_sources, &registration);
        let (problem, lines) = match found {
            Err(error) => (Some(error.to_string()), known(&store, endpoint, None)?),
            Ok(found) => {
                store
                    .endpoints()
                    .checked(&endpoint.id, &found.stored()?)
                    .map_err(Failure::other)?;
                (None, remember(&store, endpoint, &found)?)
            }
        };
        failed += usize::from(problem.is_some());
        if arguments.json {
            list.push(
                json!({"id": endpoint.id, "name": endpoint.name, "ok": problem.is_none(), "problem": problem,
                "found": lines}),
            );
        } else {
            println!("{}: {}", plain(&endpoint.name), problem.as_deref().unwrap_or("ok"));
            for line in lines {
                println!("  {line}");
            }
        }
    }
    if arguments.json {
        println!("{:#}", Value::from(list));
    }
    match (endpoints.len(), failed) {
        (0, _) => Err(Failure::partial("there is no endpoint to check")),
        (_, 0) => Ok(()),
        (all, failed) => Err(Failure::partial(format!(
            "{failed} of {all} endpoints do not answer as they should"
        ))),
    }
}

/// Sets the status of an endpoint.
pub(super) fn set_status(arguments: &StatusArgs) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let StatusArgs { id, status, .. } = arguments;
    let endpoint = store
        .endpoints()
        .get(id)
        .map_err(Failure::other)?
        .ok_or_else(|| unknown(id))?;
    store
        .endpoints()
        .set_status(id, *status, Actor::Operator)
        .map_err(refused)?;
    if arguments.json {
        println!("{:#}", json!({"id": id, "name": endpoint.name, "status": status}));
    } else {
        println!("{} is {status}", plain(&endpoint.name));
    }
    Ok(())
}

fn unknown(id: &str) -> Failure {
    Failure::input(format!("no endpoint has the id {id:?}"))
}
