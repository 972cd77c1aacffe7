//! `tabularium erase`: removes one person's records from the lake, for good.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::super::service::mode::Mode;
use super::super::terminal::ask::confirm;
use super::super::terminal::failure::Failure;
use super::lake_scope::LOCAL;
use super::wait::Wait;
use crate::fhir::facts;
use crate::lake::{Erased, Intent, Lake};
use crate::maintenance::{PersonErasure, Staying};

/// Erase a person's records: every resource filed under one Patient, with all earlier versions
///
/// At the end no reader sees the records, and their bytes have left the data folder: the files that held them are
/// written again without them. Records that belong to nobody in particular stay (organizations, practitioners, records
/// that name several people), and so do other people's records about the person. The command prints how many shared
/// records name the person. Tokens that `tabularium token` made for the Patient end. Records that came with a patient's
/// consent end with the consent (`tabularium consents revoke`). If the command is interrupted, the next command that
/// writes completes the erasure. Importing the person again brings the records back. Copies of the folder are not
/// changed; the next `tabularium backup` removes the person from its snapshots.
///
/// The last line printed is the receipt: a JWS, signed by a key in the folder's service.sqlite. `tabularium receipt
/// verify` checks it. On a terminal the command asks first; elsewhere it needs --yes.
///
/// Exit codes: 0 erased; 2 there is no lake, nothing is filed under this Patient, or it was not confirmed; 3 erased
/// for all readers, but bytes are left where it says, which the next command that writes tries again; 1 another
/// failure, no records are erased, as when another process goes on writing the lake.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The id of the Patient
    #[arg(long, value_name = "ID")]
    patient: String,
    /// Erase live or test records
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// The application that the records belong to
    #[arg(long, value_name = "ID", default_value = LOCAL)]
    application: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Only print what would be erased and what would stay
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print one JSON object; on a terminal the command asks nevertheless
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// Erases the records, and prints what was erased and the receipt. With `--dry-run`, only prints what would be erased.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let Args {
        data,
        patient,
        mode,
        application,
        yes,
        dry_run,
        json: as_json,
        wait,
    } = arguments;
    let lake = Lake::open(&data).map_err(Failure::from_lake)?;
    if !yes && !dry_run {
        let question = format!("Erase all records of Patient/{patient} in {} for good?", data.display());
        confirm("erased", &question)?;
    }
    let erasure = PersonErasure::new(&data, &lake, mode.into(), &application, &patient);
    let nothing = || {
        Failure::input(format!(
            "the lake has no records of Patient/{patient} for the application {application}"
        ))
    };
    if dry_run {
        let counts = erasure.counts().map_err(Failure::other)?;
        if counts.is_empty() {
            return Err(nothing());
        }
        let going = counts.iter().map(|(_, rows)| rows).sum();
        let staying = erasure.staying(going);
        if as_json {
            let resources = object(counts);
            let said = json!({"patient": patient, "dryRun": true, "resources": resources, "stays": described(staying)});
            println!("{said:#}");
            return Ok(());
        }
        print!("{}", counted(counts));
        println!("would be erased, with all earlier versions; --dry-run erased nothing");
        print!("{}", stays(staying, &patient));
        return Ok(());
    }
    let mut writer = wait.writer(&lake)?;
    let mut others = Vec::new();
    let finished = |intent: &Intent| {
        let whose = whose(intent);
        let line = format!("finished an erasure that had been interrupted: {whose}");
        // With `--json` the printed object lists these finished erasures, too. But a command that fails later prints no
        // object. So write the line to standard error in any case.
        if as_json {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
        others.push(whose);
    };
    let done = erasure.run(&mut writer, finished).map_err(Failure::other)?;
    drop(writer);
    let Some(done) = done else {
        if !as_json {
            print!("{}", stays(erasure.staying(0), &patient));
        }
        return Err(nothing());
    };
    let (receipt, unsigned) = match done.receipt.transpose() {
        Ok(receipt) => (receipt, None),
        Err(error) => (None, Some(error)),
    };
    let erased = &done.erased;
    if as_json {
        let said = json!({
            "patient": patient, "dryRun": false, "resources": object(by_type(erased)), "rows": erased.rows,
            "attachments": erased.attachments, "filesRewritten": erased.files_rewritten,
            "filesRemoved": erased.files_removed, "tokensEnded": done.consents > 0, "finished": others,
            "left": erased.left, "receipt": receipt, "stays": described(erasure.staying(0)),
        });
        println!("{said:#}");
    } else {
        print!("{}", report(erased));
        if done.consents > 0 {
            println!("the tokens that were made for this Patient are ended");
        }
        print!("{}", stays(erasure.staying(0), &patient));
        if let Some(receipt) = receipt {
            println!("{receipt}");
        }
    }
    if let Some(error) = unsigned {
        return Err(Failure::partial(format!(
            "the records are hidden from all readers and erased, but the receipt could not be signed: {error}; run this command again for it"
        )));
    }
    match done.erased.left.as_slice() {
        [] => Ok(()),
        left => Err(Failure::partial(format!(
            "the records are hidden from all readers, but bytes of them may still stand in {}; the next command that writes tries again",
            left.join(", and in ")
        ))),
    }
}

/// Returns the references of the Patients of an erasure, with commas between them.
fn whose(intent: &Intent) -> String {
    let patients = intent.patient.patients.iter().map(|id| format!("Patient/{id}"));
    patients.collect::<Vec<_>>().join(", ")
}

/// Returns the counts of the rows that stay, and the types with an unreadable file, as JSON.
fn described(staying: Staying) -> Value {
    json!({"named": object(staying.named), "synced": staying.synced, "unread": staying.unread})
}

fn object(counts: Vec<(&str, u64)>) -> Map<String, Value> {
    counts
        .into_iter()
        .map(|(name, count)| (name.to_owned(), json!(count)))
        .collect()
}

/// Formats the counts of rows that stay: rows that refer to the person, and rows from a sync of the person's records.
/// Also names the types that were not searched because a file cannot be read.
fn stays(staying: Staying, patient: &str) -> String {
    let Staying { named, synced, unread } = staying;
    let mut named: Vec<String> = named
        .into_iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    named.sort_unstable();
    let mut text = String::new();
    if !named.is_empty() {
        let named = named.join(", ");
        text.push_str(&format!(
            "stays, because it is filed under nobody or under several people, though it names Patient/{patient}: {named}\n"
        ));
    }
    if synced > 0 {
        text.push_str(&format!(
            "stays, because a patient's consent brought it and its end takes it away: {synced} records\n"
        ));
    }
    if !unread.is_empty() {
        text.push_str(&format!(
            "not looked through, because a file cannot be read: {}\n",
            unread.join(", ")
        ));
    }
    text
}

fn report(erased: &Erased) -> String {
    let counts = by_type(erased);
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut text = counted(counts);
    if erased.rows > total {
        let more = erased.rows - total;
        text.push_str(&format!("and {more} earlier versions and deleted resources\n"));
    }
    if erased.attachments > 0 {
        text.push_str(&format!("and {} attachments\n", erased.attachments));
    }
    text.push_str(&format!(
        "{} files rewritten, {} removed\n",
        erased.files_rewritten, erased.files_removed
    ));
    text
}

/// Returns the number of current resources that were erased, for each type that has some.
fn by_type(erased: &Erased) -> Vec<(&'static str, u64)> {
    let some = erased.resources.iter().filter(|(_, count)| **count > 0);
    some.map(|(type_id, count)| (facts().get(*type_id).name, *count))
        .collect()
}

/// Formats the counts by type as a table. Its last row is the total.
fn counted(mut counts: Vec<(&str, u64)>) -> String {
    counts.sort_unstable();
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    counts.push(("total", total));
    let width = counts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let digits = total.to_string().len();
    let line = |(name, count): &(&str, u64)| format!("{name:<width$}  {count:>digits$}\n");
    counts.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_line_up_and_add_up() {
        let type_named = |name| facts().lookup(name).unwrap();
        let erased = Erased {
            resources: [
                (type_named("Patient"), 1),
                (type_named("Observation"), 120),
                (type_named("Goal"), 0),
            ]
            .into(),
            rows: 125,
            attachments: 2,
            files_rewritten: 3,
            files_removed: 1,
            left: Vec::new(),
        };
        let expected = "Observation  120\nPatient        1\ntotal        121\n\
                        and 4 earlier versions and deleted resources\nand 2 attachments\n3 files rewritten, 1 removed\n";
        assert_eq!(report(&erased), expected);
    }
}
