//! `tabularium audit`: what happened, and who did it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::columns::{lined_up, time};
use super::data_store::open;
use super::failure::Failure;
use crate::consent::AuditEntry;

/// Print the audit log: what happened to applications, consents and keys, and who did it, newest first
///
/// It holds neither secrets nor contents of records, and the store does not let its entries be changed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// What concerns one consent
    #[arg(long, value_name = "ID")]
    consent: Option<String>,
    /// How many entries at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Prints the entries.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let entries = store
        .audit(arguments.consent.as_deref(), arguments.limit)
        .map_err(Failure::other)?;
    if arguments.json {
        let list: Vec<Value> = entries.iter().map(object).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let rows: Vec<[String; 5]> = entries.iter().map(row).collect();
    print!("{}", lined_up(["at", "by", "what", "of", "detail"], &rows));
    Ok(())
}

fn row(entry: &AuditEntry) -> [String; 5] {
    let of = [&entry.application, &entry.consent, &entry.authorization];
    let of: Vec<&str> = of.into_iter().filter_map(Option::as_deref).collect();
    [
        time(entry.at),
        entry.actor.to_string(),
        entry.action.clone(),
        of.join(" "),
        entry.detail.clone(),
    ]
}

fn object(entry: &AuditEntry) -> Value {
    json!({
        "id": entry.id, "at": time(entry.at), "actor": entry.actor, "action": entry.action,
        "application": entry.application, "consent": entry.consent, "authorization": entry.authorization,
        "detail": entry.detail,
    })
}
