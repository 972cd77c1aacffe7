//! `tabularium consents`: lists consents, or revokes one.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::super::terminal::ask::confirm;
use super::super::terminal::columns::{listed, time};
use super::super::terminal::failure::Failure;
use super::super::terminal::manner::notice;
use super::audit::whole;
use super::data_store::open;
use super::mode::Mode;
use crate::consent::{Actor, ConsentFilter, ConsentState, ConsentWithSources, Store};
use crate::fhir::nearest::did_you_mean;
use crate::lake;

/// List consents, newest first, with their states and sources; revoke one
///
/// The list includes the consents that `token --patient` makes for imported records.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The data folder
    #[arg(long, value_name = "DIR", required = true)]
    data: Option<PathBuf>,
    /// Only those of one application
    #[arg(long, value_name = "ID")]
    application: Option<String>,
    /// Only those of one mode
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Only those in one state: CREATED, AUTHORIZED, EXCHANGED, ABANDONED or REVOKED
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<ConsentState>,
    /// Print at most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Revoke(RevokeArgs),
}

/// Revoke a consent: its tokens end at once, and the records that it brought are erased
///
/// A running server erases the records within seconds; without one, the next `tabularium serve` does. On a terminal the
/// command asks first; elsewhere it needs --yes.
///
/// Exit codes: 0 revoked, or it was already; 2 no consent has an id that begins like this, or several have, or it was
/// not confirmed; 1 another failure.
#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// The id of the consent, or its first letters
    #[arg(value_name = "ID")]
    id: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn state(text: &str) -> Result<ConsentState, String> {
    const STATES: [&str; 5] = ["CREATED", "AUTHORIZED", "EXCHANGED", "ABANDONED", "REVOKED"];
    let state = ConsentState::named(&text.to_ascii_uppercase());
    state.ok_or_else(|| {
        let meant = did_you_mean(text, STATES.into_iter());
        format!("it is CREATED, AUTHORIZED, EXCHANGED, ABANDONED or REVOKED{meant}")
    })
}

/// Lists the consents, or revokes one.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    if let Some(Command::Revoke(arguments)) = arguments.command {
        return revoke(&arguments);
    }
    let store = open(&arguments.data.unwrap_or_default())?;
    if let Some(id) = &arguments.application
        && store.applications().get(id).map_err(Failure::other)?.is_none()
    {
        return Err(Failure::input(format!("no application is called {id:?}")));
    }
    let filter = ConsentFilter {
        application: arguments.application.as_deref(),
        mode: arguments.mode.map(lake::Mode::from),
        state: arguments.state,
        limit: arguments.limit,
        ..ConsentFilter::default()
    };
    let found = store.consents().list(&filter).map_err(Failure::other)?;
    if arguments.json {
        let list: Vec<Value> = found.iter().map(object).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let rows: Vec<[String; 6]> = found.iter().map(row).collect();
    print!(
        "{}",
        listed(["consent", "application", "mode", "state", "made", "sources"], &rows)
    );
    Ok(())
}

fn revoke(arguments: &RevokeArgs) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let id = whole(&store, &arguments.id)?;
    let consent = store.consents().get(&id).map_err(Failure::other)?;
    let state = consent.map(|consent| consent.state);
    if let Some(state @ (ConsentState::Revoked | ConsentState::Abandoned)) = state {
        return over(&store, &id, state, arguments.json);
    }
    if !arguments.yes {
        confirm(
            "revoked",
            &format!("Revoke the consent {id} for good, and erase the records that it brought?"),
        )?;
    }
    let ended = store.consents().revoke(&id, Actor::Operator).map_err(Failure::other)?;
    if arguments.json {
        println!("{:#}", json!({"id": id, "authorizations": ended, "already": false}));
        return Ok(());
    }
    match ended {
        1 => println!("revoked {id}; 1 authorization ended"),
        ended => println!("revoked {id}; {ended} authorizations ended"),
    }
    notice("a running server erases the records that it brought within seconds, else the next one does");
    Ok(())
}

/// Tells that a consent had ended before, and whether records that it brought are still to be erased.
fn over(store: &Store, id: &str, state: ConsentState, as_json: bool) -> Result<(), Failure> {
    let is_erasing = store.consents().is_erasing(id).map_err(Failure::other)?;
    if as_json {
        let said = json!({"id": id, "authorizations": 0, "already": true, "state": state, "erasing": is_erasing});
        println!("{said:#}");
        return Ok(());
    }
    let records = if is_erasing {
        "records that it brought are not erased yet: a running server does that within seconds, else the next one"
    } else {
        "no records that it brought are left to erase"
    };
    match state {
        ConsentState::Revoked => println!("{id} was revoked already; nothing was changed"),
        state => println!("{id} is {state}, so there is nothing to revoke; nothing was changed"),
    }
    notice(records);
    Ok(())
}

fn row(full_consent: &ConsentWithSources) -> [String; 6] {
    let consent = &full_consent.consent;
    let sources = full_consent.sources.iter().map(|source| {
        let sync = source.sync.map(|state| format!(", sync {state}")).unwrap_or_default();
        format!("{} ({}{sync})", source.endpoint.name, source.authorization.state)
    });
    [
        consent.id.clone(),
        consent.application.clone(),
        consent.mode.schema().to_owned(),
        consent.state.to_string(),
        time(consent.created_at),
        sources.collect::<Vec<_>>().join(", "),
    ]
}

fn object(full_consent: &ConsentWithSources) -> Value {
    let consent = &full_consent.consent;
    let sources = full_consent.sources.iter().map(|source| {
        let authorization = &source.authorization;
        json!({
            "authorization": authorization.id, "type": authorization.authorization_type, "state": authorization.state,
            "usage": authorization.usage, "endpoint": source.endpoint.name, "sync": source.sync,
            "lastSyncedAt": source.synced_at.map(time),
        })
    });
    json!({
        "id": consent.id, "application": consent.application, "mode": consent.mode.schema(),
        "state": consent.state, "madeBy": consent.made_by, "externalId": consent.external_id,
        "createdAt": time(consent.created_at), "updatedAt": consent.updated_at.map(time),
        "sources": sources.collect::<Vec<_>>(),
    })
}
