//! `tabularium sync`: lists the syncs of patients' sources, their results, and missing records.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::super::tables::normalize::rules_table;
use super::super::terminal::columns::{listed, plain, time};
use super::super::terminal::failure::Failure;
use super::data_store::open;
use crate::consent::{AttachmentCounts, ListedJob, Missing};

/// List the syncs of patients' sources: what they brought, and what is missing
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(ListArgs),
    Show(ShowArgs),
}

/// List syncs, newest first
///
/// Exit codes: 0 printed; 1 a failure.
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Only those of one consent
    #[arg(long, value_name = "ID")]
    consent: Option<String>,
    /// Print at most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Show one sync: state, attempts, records by type, results of normalization, and what is missing
///
/// Exit codes: 0 printed; 2 no sync has an id that begins like this, or several have; 1 another failure.
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// The id of the sync, or its first letters
    job: String,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::List(arguments) => list(&arguments),
        Command::Show(arguments) => show(&arguments),
    }
}

fn list(arguments: &ListArgs) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let jobs = store
        .jobs()
        .list(arguments.consent.as_deref(), arguments.limit)
        .map_err(Failure::other)?;
    if arguments.json {
        let list: Vec<Value> = jobs.iter().map(object).collect();
        println!("{:#}", Value::from(list));
        return Ok(());
    }
    let rows: Vec<[String; 8]> = jobs.iter().map(row).collect();
    let heading = [
        "id", "consent", "endpoint", "cause", "state", "attempts", "records", "missing",
    ];
    print!("{}", listed(heading, &rows));
    Ok(())
}

fn show(arguments: &ShowArgs) -> Result<(), Failure> {
    let store = open(&arguments.data)?;
    let mut found = store.jobs().beginning(&arguments.job, 2).map_err(Failure::other)?;
    // `found` has at most two jobs. If `arguments.job` is the whole id of a job, this job comes first, even if the
    // other id begins with the same text. Otherwise two jobs mean that the text is ambiguous, so choose none.
    let job = match found.len() {
        0 => None,
        1 => found.pop(),
        _ => Some(found.swap_remove(0)).filter(|listed| listed.job.id == arguments.job),
    };
    let job = job.ok_or_else(|| {
        let beginning = &arguments.job;
        Failure::input(format!("no one sync has an id that is or begins with {beginning:?}"))
    })?;
    if arguments.json {
        println!("{:#}", object(&job));
        return Ok(());
    }
    let ListedJob {
        job,
        consent,
        endpoint,
        report,
    } = &job;
    println!("{} of {} ({})", job.id, plain(endpoint), job.cause);
    println!("consent {consent}, authorization {}", job.authorization);
    println!(
        "{} after {} attempts, made {}",
        job.state,
        job.attempts,
        time(job.created_at)
    );
    if let Some(finished_at) = job.finished_at {
        println!("ended {}", time(finished_at));
    }
    if let Some(failure) = &job.failure {
        println!("last failure: {}", plain(failure));
    }
    for (resource_type, records) in &report.counts {
        println!("  {resource_type}: {records}");
    }
    if !report.rules.is_empty() {
        println!("rules of normalization:");
        let rules = report.rules.iter().map(|(rule, did)| (rule.as_str(), did));
        for line in rules_table(rules).lines() {
            println!("  {line}");
        }
    }
    if let Some(attachments) = report.attachments.and_then(AttachmentCounts::told) {
        println!("attachments: {attachments}");
    }
    match report.missing.as_slice() {
        [] if job.state.is_open() => {}
        [] => println!("nothing is missing"),
        missing => {
            println!("missing:");
            for one in missing {
                println!("  {}", plain(&one.line()));
            }
        }
    }
    Ok(())
}

fn row(listed: &ListedJob) -> [String; 8] {
    let ListedJob {
        job,
        consent,
        endpoint,
        report,
    } = listed;
    [
        job.id.clone(),
        consent.get(..8).unwrap_or(consent).to_owned(),
        endpoint.clone(),
        job.cause.clone(),
        job.state.to_string(),
        job.attempts.to_string(),
        report.records().to_string(),
        report.missing.len().to_string(),
    ]
}

fn object(listed: &ListedJob) -> Value {
    let ListedJob {
        job,
        consent,
        endpoint,
        report,
    } = listed;
    let counts: serde_json::Map<String, Value> = report
        .counts
        .iter()
        .map(|(resource_type, records)| (resource_type.clone(), (*records).into()))
        .collect();
    let rules: serde_json::Map<String, Value> = report
        .rules
        .iter()
        .map(|(rule, did)| {
            let did = json!({"made": did.made, "changed": did.changed, "left": did.left, "dangling": did.dangling});
            (rule.clone(), did)
        })
        .collect();
    let attachments = report.attachments.map(|counts| {
        json!({"fetched": counts.fetched, "kept": counts.kept, "atSource": counts.at_source, "missing": counts.missing})
    });
    json!({
        "id": job.id, "consent": consent, "authorization": job.authorization, "endpoint": endpoint,
        "cause": job.cause, "state": job.state, "attempts": job.attempts, "failure": job.failure,
        "createdAt": time(job.created_at), "startedAt": job.started_at.map(time),
        "finishedAt": job.finished_at.map(time), "resourceTypes": counts,
        "rules": rules, "attachments": attachments, "missing": report.missing.iter().map(missing).collect::<Vec<_>>(),
    })
}

fn missing(one: &Missing) -> Value {
    json!({"type": one.resource_type, "part": one.part, "reason": one.reason, "status": one.status, "records": one.records,
           "detail": one.detail})
}
