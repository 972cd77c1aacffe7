//! `tabularium receipt list` and `show`: list erasures and print stored receipts.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::service::data_store::open;
use crate::cli::terminal::columns::{listed, time};
use crate::cli::terminal::failure::Failure;
use crate::consent::{ErasureJob, receipt_digest};

/// List erasures, newest first, with the digest that the audit log has of each receipt
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Only those of one consent
    #[arg(long, value_name = "ID")]
    consent: Option<String>,
    /// Print at most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Print the receipt of an erasure, as it was signed
///
/// Exit codes: 0 printed; 2 there is no such erasure; 3 it has not ended, so there is no receipt yet; 1 another
/// failure.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The id of the erasure, as `receipt list` prints it
    #[arg(value_name = "ID")]
    id: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the list of erasures.
pub(super) fn list(arguments: ListArgs) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let jobs = store.erasure_jobs().list(arguments.consent.as_deref(), arguments.limit);
    let jobs = jobs.map_err(Failure::other)?;
    if arguments.json {
        let list: Vec<Value> = jobs.iter().map(object).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let rows: Vec<[String; 5]> = jobs.iter().map(row).collect();
    print!("{}", listed(["erasure", "asked", "how", "consent", "receipt"], &rows));
    Ok(())
}

fn object(job: &ErasureJob) -> Value {
    json!({
        "erasure": job.id, "askedAt": time(job.asked_at), "how": job.cause.name(), "consent": job.consent,
        "digest": job.receipt.as_deref().map(receipt_digest),
    })
}

fn row(job: &ErasureJob) -> [String; 5] {
    [
        job.id.clone(),
        time(job.asked_at),
        job.cause.name().to_owned(),
        job.consent.clone().unwrap_or_else(|| "-".to_owned()),
        job.receipt
            .as_deref()
            .map_or_else(|| "not yet".to_owned(), receipt_digest),
    ]
}

/// Prints the receipt of an erasure. Fails with exit code 3 if there is none yet.
pub(super) fn show(arguments: ShowArgs) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let Some(job) = store.erasure_jobs().get(&arguments.id).map_err(Failure::other)? else {
        return Err(Failure::input(format!("there is no erasure {}", arguments.id)));
    };
    match job.receipt {
        Some(receipt) if arguments.json => {
            let digest = receipt_digest(&receipt);
            println!("{:#}", json!({"erasure": job.id, "digest": digest, "receipt": receipt}));
        }
        Some(receipt) => println!("{receipt}"),
        None => return Err(Failure::partial("the erasure is not over, and has no receipt yet")),
    }
    Ok(())
}
