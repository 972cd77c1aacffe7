//! `tabularium audit`: prints the audit log.

use std::path::PathBuf;

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::terminal::columns::{listed, time};
use super::super::terminal::failure::Failure;
use super::data_store::open;
use crate::consent::{AuditEntry, Store};

/// Print the audit log, newest first: what happened to applications, consents and keys, and who did it
///
/// The log contains no secrets and no records, and its entries cannot be changed. The table shows the first letters of
/// ids; consents and patient authorizations are shown as CONSENT/AUTHORIZATION. Lines of consents that ended more than
/// 90 days ago are in the folder's audit/, and are read from there.
///
/// Exit codes: 0 printed; 2 no consent has an id that begins like this, or several have; 1 another failure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Only entries about one consent, by its id or the first letters of it
    #[arg(long, value_name = "ID")]
    consent: Option<String>,
    /// Print at most this many entries
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Prints the entries.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let consent = arguments.consent.map(|id| whole(&store, &id)).transpose()?;
    let entries = store
        .audit()
        .newest(consent.as_deref(), arguments.limit)
        .map_err(Failure::other)?;
    if arguments.json {
        let list: Vec<Value> = entries.iter().map(object).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let rows: Vec<[String; 5]> = entries.iter().map(row).collect();
    print!("{}", listed(["at", "by", "what", "of", "detail"], &rows));
    Ok(())
}

/// Returns the id of the consent whose id begins with `beginning`. Fails if there is none, or more than one.
pub(super) fn whole(store: &Store, beginning: &str) -> Result<String, Failure> {
    let mut found = store.consents().beginning(beginning, 2).map_err(Failure::other)?;
    match (found.pop(), found.pop()) {
        (Some(id), None) => Ok(id),
        (None, _) => Err(Failure::input(format!(
            "no consent has an id that is or begins with {beginning:?}"
        ))),
        _ => Err(Failure::input(format!(
            "several consents have an id that begins with {beginning:?}"
        ))),
    }
}

fn row(entry: &AuditEntry) -> [String; 5] {
    let ids = [entry.consent.as_deref(), entry.authorization.as_deref()];
    let ids: Vec<&str> = ids.into_iter().flatten().map(short).collect();
    let of = [entry.application.clone(), Some(ids.join("/"))];
    let of: Vec<String> = of.into_iter().flatten().filter(|one| !one.is_empty()).collect();
    let is_id = |word: &str| Uuid::try_parse(word).is_ok();
    let words = entry.detail.split(' ');
    let detail: Vec<&str> = words.map(|word| if is_id(word) { short(word) } else { word }).collect();
    [
        time(entry.at),
        entry.actor.to_string(),
        entry.action.clone(),
        of.join(" "),
        detail.join(" "),
    ]
}

/// Returns the first 8 characters of an id. They nearly always distinguish it from other ids.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

fn object(entry: &AuditEntry) -> Value {
    json!({
        "id": entry.id, "at": time(entry.at), "actor": entry.actor, "action": entry.action,
        "application": entry.application, "consent": entry.consent, "authorization": entry.authorization,
        "detail": entry.detail,
    })
}
