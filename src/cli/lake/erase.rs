//! `tabularium erase`: one person's records out of the lake, for good.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::super::service::mode::Mode;
use super::super::terminal::ask::confirm;
use super::super::terminal::failure::Failure;
use super::lake_scope::LOCAL;
use super::wait::Wait;
use crate::consent::{Clock, ErasureJob, Forgotten, Proof, Store};
use crate::fhir::{TypeId, facts};
use crate::lake::{Erased, Evidence, Intent, Lake, LakeWriter, PatientScope, REFRESH, Scope};

/// Running servers have noticed by then that records are being erased.
const NOTICED: Duration = REFRESH.saturating_add(Duration::from_millis(500));

/// Erase a person's records: every resource filed under one Patient, with all earlier versions
///
/// When it ends they are gone for all readers, a running server's page links included, and their bytes have left the
/// data folder: the files that hold them are rewritten without them. What belongs to nobody in particular stays
/// (organizations, practitioners, records that name several people), and so do other people's records that speak of
/// the person; of the former it says how many name them. Tokens that were made for the Patient on the command line
/// end, and files of interrupted imports that hold such records go from data/.orphans. What a patient's consent has
/// brought goes with the consent, not with this. Importing the person again brings the records back. If it is
/// interrupted, the next command that writes finishes it. Copies of the folder are not touched; the next `tabularium
/// backup` takes the person out of its snapshots.
///
/// The last line printed is the receipt: a JWS, signed by a key in the folder's service.sqlite, which is made where
/// there is none. `tabularium receipt verify` checks it. On a terminal you are asked first; elsewhere --yes is
/// needed.
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
    /// Only say what would be erased, and what would stay
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print one JSON object; on a terminal you are asked all the same
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// Erases and says what.
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
    let asked_at = Clock::System.now();
    let intent = Intent {
        mode: mode.into(),
        patient: PatientScope {
            owners: lake.owners_of(&application, &patient),
            patients: vec![patient.clone()],
            authorizations: Vec::new(),
        },
        application,
    };
    if dry_run {
        return would_erase(&lake, &intent, &patient, as_json);
    }
    let mut writer = wait.writer(&lake)?;
    writer.let_readers_notice(NOTICED);
    let (consents, not_forgotten) = end_tokens(&data, &intent, &patient);
    let (mut erased, finished) = resumed(&writer, &intent);
    if !as_json {
        for whose in &finished {
            println!("finished an erasure that had been interrupted: {whose}");
        }
    }
    let now = writer
        .erase_all(std::slice::from_ref(&intent))
        .map_err(|error| Failure::other(format!("no records are erased: {error}")))?;
    erased = now.into_iter().fold(erased, together);
    erased.left.extend(not_forgotten);
    let about = [(intent.clone(), vec![patient.clone()])];
    let evidence = writer
        .evidence(&about)
        .map_err(Failure::other)?
        .pop()
        .unwrap_or_default();
    if erased.rows == 0 && erased.left.is_empty() && consents == 0 && evidence.before.is_none() {
        if !as_json {
            print!("{}", Stays::of(&lake, &intent, &patient, 0).text(&patient));
        }
        return Err(nothing_there(&intent, &patient));
    }
    if !as_json {
        print!("{}", report(&erased));
        if consents > 0 {
            println!("the tokens that were made for this Patient are ended");
        }
    }
    let mut left: Vec<String> = Vec::new();
    for clause in std::mem::take(&mut erased.left) {
        if !left.contains(&clause) {
            left.push(clause);
        }
    }
    let receipt = match left.is_empty() {
        true => Some(receipt(&data, &mut writer, (&intent, &patient), evidence, asked_at)),
        false => None,
    };
    drop(writer);
    let stays = Stays::of(&lake, &intent, &patient, 0);
    let (receipt, unsigned) = match receipt.transpose() {
        Ok(receipt) => (receipt, None),
        Err(error) => (None, Some(error.to_string())),
    };
    if as_json {
        let mut object = json!({
            "patient": patient, "dryRun": false, "resources": by_type(&erased.resources), "rows": erased.rows,
            "attachments": erased.attachments, "filesRewritten": erased.files_rewritten,
            "filesRemoved": erased.files_removed, "tokensEnded": consents > 0, "finished": finished,
            "left": left, "receipt": receipt,
        });
        object["stays"] = stays.object();
        println!("{object:#}");
    } else {
        print!("{}", stays.text(&patient));
        if let Some(receipt) = receipt {
            println!("{receipt}");
        }
    }
    if let Some(error) = unsigned {
        return Err(Failure::partial(format!(
            "the records are hidden from all readers and erased, but the receipt could not be signed: {error}; run this command again for it"
        )));
    }
    match left.as_slice() {
        [] => Ok(()),
        left => Err(Failure::partial(format!(
            "the records are hidden from all readers, but bytes of them may still stand in {}; the next command that writes tries again",
            left.join(", and in ")
        ))),
    }
}

/// Says what an erasure would take, without one.
fn would_erase(lake: &Lake, intent: &Intent, patient: &str, as_json: bool) -> Result<(), Failure> {
    let snapshot = lake.snapshot();
    let scope = Arc::new(Scope {
        mode: intent.mode,
        application: intent.application.as_str().into(),
        patient: Some(Arc::new(intent.patient.clone())),
    });
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for table in snapshot.tables.values().filter(|table| table.mode == intent.mode) {
        let rows = lake
            .table(&snapshot, table.ty, &scope)
            .own_rows()
            .map_err(Failure::other)?;
        counts.extend((rows > 0).then(|| (facts().get(table.ty).name, rows)));
    }
    if counts.is_empty() {
        return Err(nothing_there(intent, patient));
    }
    let going = counts.iter().map(|(_, rows)| rows).sum();
    let stays = Stays::of(lake, intent, patient, going);
    if as_json {
        let resources: Map<String, Value> = counts
            .iter()
            .map(|(ty, rows)| ((*ty).to_owned(), json!(rows)))
            .collect();
        let object = json!({"patient": patient, "dryRun": true, "resources": resources, "stays": stays.object()});
        println!("{object:#}");
        return Ok(());
    }
    print!("{}", counted(counts));
    println!("would be erased, with earlier versions; nothing was");
    print!("{}", stays.text(patient));
    Ok(())
}

fn nothing_there(intent: &Intent, patient: &str) -> Failure {
    Failure::input(format!(
        "no records of Patient/{patient} of the application {} are in the lake that could be erased",
        intent.application
    ))
}

/// Signs the receipt and keeps it; gives it.
fn receipt(
    data: &Path,
    writer: &mut LakeWriter,
    (intent, patient): (&Intent, &str),
    lake: Evidence,
    asked_at: i64,
) -> Result<String, Box<dyn std::error::Error>> {
    let store = Store::open(data, Clock::System)?;
    let (ids, numbers) = writer.erased_ids(std::slice::from_ref(intent));
    let searched = store.search_ids(ids, &numbers)?.pop().unwrap_or_default();
    let job = ErasureJob::of_command(&intent.application, intent.mode, asked_at);
    let proof = Proof { lake, store: searched };
    let receipt = store.sign_receipt(&job, &[patient.to_owned()], &proof)?;
    store.keep_receipt_of_command(&job, &receipt)?;
    writer.forget_evidence(std::slice::from_ref(intent))?;
    Ok(receipt)
}

/// Ends the tokens for the person's imported records; says what is left of them in the service's store, a clause each.
fn end_tokens(data: &Path, intent: &Intent, patient: &str) -> (u64, Vec<String>) {
    let forgotten = Store::open_existing(data, Clock::System).and_then(|store| {
        let forget = |store: Store| store.forget_imported(&intent.application, intent.mode, patient);
        store.map_or(Ok(Forgotten::default()), forget)
    });
    match forgotten {
        Ok(Forgotten {
            consents,
            log_stays: false,
        }) => (consents, Vec::new()),
        Ok(Forgotten { consents, .. }) => {
            let left = "the log of service.sqlite, which could not be emptied while another program reads it";
            (consents, vec![left.to_owned()])
        }
        Err(error) => (
            0,
            vec![format!("service.sqlite ({error}); then run this command again")],
        ),
    }
}

/// What came of erasures of the same person that had been interrupted, and whose others were finished.
fn resumed(writer: &LakeWriter, intent: &Intent) -> (Erased, Vec<String>) {
    let (mut own, mut finished) = (Erased::default(), Vec::new());
    for (other, erased) in writer.resumed() {
        if other == intent {
            own = together(own, erased.clone());
        } else if erased.left.is_empty() {
            let whose: Vec<String> = other
                .patient
                .patients
                .iter()
                .map(|id| format!("Patient/{id}"))
                .collect();
            finished.push(whose.join(", "));
        }
    }
    (own, finished)
}

/// What is not erased though it names the person, or is theirs by way of a sync.
struct Stays {
    /// How many resources of a type name the person.
    named: Vec<(&'static str, u64)>,
    /// Records that a patient's consent brought.
    synced: u64,
    /// Types of which a file cannot be read.
    unread: Vec<&'static str>,
}

impl Stays {
    /// So many rows are there that go.
    fn of(lake: &Lake, intent: &Intent, patient: &str, going: u64) -> Stays {
        let snapshot = lake.snapshot();
        let scope = Arc::new(Scope {
            mode: intent.mode,
            application: intent.application.as_str().into(),
            patient: None,
        });
        let (mut named, mut synced, mut unread) = (Vec::new(), 0, Vec::new());
        for table in snapshot.tables.values().filter(|table| table.mode == intent.mode) {
            let (rows, name) = (lake.table(&snapshot, table.ty, &scope), facts().get(table.ty).name);
            let filed = rows.filed_under(&intent.patient.owners, patient);
            match filed.and_then(|filed| Ok((filed, rows.mentions(patient)?))) {
                Ok((filed, count)) => {
                    synced += filed;
                    named.extend((count > 0).then_some((name, count)));
                }
                Err(_) => unread.push(name),
            }
        }
        named.sort_unstable();
        Stays {
            named,
            synced: u64::saturating_sub(synced, going),
            unread,
        }
    }

    fn text(&self, patient: &str) -> String {
        let mut text = String::new();
        if !self.named.is_empty() {
            let named: Vec<String> = self
                .named
                .iter()
                .map(|(name, count)| format!("{count} {name}"))
                .collect();
            text.push_str(&format!(
                "stays, because it is filed under nobody or under several people, though it names Patient/{patient}: {}\n",
                named.join(", ")
            ));
        }
        if self.synced > 0 {
            text.push_str(&format!(
                "stays, because a patient's consent brought it and its end takes it away: {} records\n",
                self.synced
            ));
        }
        if !self.unread.is_empty() {
            text.push_str(&format!(
                "not looked through, because a file cannot be read: {}\n",
                self.unread.join(", ")
            ));
        }
        text
    }

    fn object(&self) -> Value {
        let named = self
            .named
            .iter()
            .map(|(name, count)| ((*name).to_owned(), json!(count)));
        json!({"named": named.collect::<Map<String, Value>>(), "synced": self.synced, "unread": self.unread})
    }
}

/// Counts by type.
fn by_type(counts: &BTreeMap<TypeId, u64>) -> Map<String, Value> {
    let some = counts.iter().filter(|(_, count)| **count > 0);
    some.map(|(ty, count)| (facts().get(*ty).name.to_owned(), json!(count)))
        .collect()
}

fn together(mut one: Erased, other: Erased) -> Erased {
    for (ty, count) in other.resources {
        *one.resources.entry(ty).or_default() += count;
    }
    one.rows += other.rows;
    one.attachments += other.attachments;
    one.files_rewritten += other.files_rewritten;
    one.files_removed += other.files_removed;
    one.left = other.left;
    one
}

fn report(erased: &Erased) -> String {
    let some = erased.resources.iter().filter(|(_, count)| **count > 0);
    let counts: Vec<(&str, u64)> = some.map(|(ty, count)| (facts().get(*ty).name, *count)).collect();
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

/// Counts by type, and all together.
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
        let ty = |name| facts().lookup(name).unwrap();
        let erased = Erased {
            resources: [(ty("Patient"), 1), (ty("Observation"), 120), (ty("Goal"), 0)].into(),
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
