//! `tabularium check`: compares the files of a lake with its catalog, and can make a new catalog.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::terminal::failure::Failure;
use super::backup::{failed, rules};
use super::info::bytes;
use super::wait::{Wait, ahead_of_clock};
use crate::backup::{Repeated, repeat_erasures};
use crate::cli::terminal::failure::warn;
use crate::lake::check::{Adopted, Depth, Report, adopt, check_to};
use crate::lake::{Lake, Mended};
use crate::maintenance::{Beside, check_beside};

/// The maximum number of findings about the lake's files that are printed as text. For the others, only their number is
/// printed.
const PRINTED: usize = 1_000;

/// Check a lake: the catalog, every file that it names, and what lies beside
///
/// Prints a line for each file that is missing, damaged, unknown to the catalog, or different from what the catalog
/// says. Every byte is read and compared with the file's checksums. With --rows each resource is also compared with its
/// digest, which takes much longer. The service's store, terminology and plans in the folder are read, too. The command
/// changes nothing, and a server may run meanwhile.
///
/// With --adopt a new catalog is made from the data files if the catalog is missing or does not fit them. It has the
/// newest version of each resource, without those that were deleted or erased. The old catalog is kept as
/// catalog.sqlite.damaged-TIME, and data files that cannot be read as data.damaged-TIME; remove both when you no longer
/// need them. Stop servers on the folder before. If you have a backup, restore it instead: it may hold what is lost
/// here.
///
/// With --mend-times every resource whose lastUpdated is more than a minute later than this machine's clock gets a new
/// version with the present time. So does the newest snapshot. Set the clock first. The command can be repeated, and a
/// server may run meanwhile. The lake is checked afterwards.
///
/// With --repeat-erasures the erasures of the ledger that this copy of the lake has never had are carried out, and
/// access to the erased records ends. That is needed if an older copy of the folder was put back without `tabularium
/// restore`. Records of these people that were imported again into this copy go, too. Stop servers on the folder
/// before. The command can be repeated. The lake is checked afterwards.
///
/// Exit codes: 0 all is as it should be, or was adopted; 3 something is not; 2 there is no lake; 1 another failure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Also decode every row, and compare each resource with its digest
    #[arg(long)]
    rows: bool,
    /// Make a new catalog from the data files, if the lake needs one
    #[arg(long)]
    adopt: bool,
    /// Bring times of the future to the present, after a clock was ahead
    #[arg(long, conflicts_with = "adopt")]
    mend_times: bool,
    /// Carry out the erasures that the ledger has and this copy of the lake has never had
    #[arg(long, conflicts_with_all = ["adopt", "mend_times"])]
    repeat_erasures: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "adopt")]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// Checks the lake and prints the findings. With `--adopt`, makes a new catalog if the lake needs one.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let depth = if arguments.rows { Depth::Rows } else { Depth::Checksums };
    let begun = Instant::now();
    // Mend first, because a writer that begins also cleans up after a killed one.
    let mended = if arguments.mend_times {
        mend_times(&arguments)?
    } else {
        None
    };
    let repeated = if arguments.repeat_erasures {
        repeat_erasures(&arguments.data, &rules).map_err(failed)?
    } else {
        None
    };
    let report = check_to(&arguments.data, depth).map_err(Failure::from_lake)?;
    let beside = check_beside(&arguments.data).map_err(Failure::other)?;
    if let Some(ahead) = report.ahead {
        warn(&ahead_of_clock(ahead));
    }
    if arguments.json {
        println!("{:#}", object(&report, &beside, (mended.as_ref(), repeated.as_ref())));
    } else {
        for Beside { path, problem } in &beside {
            println!("{}: {problem}", path.display());
        }
        print(&report, begun.elapsed());
        match &mended {
            Some(mended) => tell(mended),
            None if arguments.mend_times => println!("no time is more than a minute later than this machine's clock"),
            None => {}
        }
        match &repeated {
            Some(repeated) => tell_repeated(repeated),
            None if arguments.repeat_erasures => println!("the lake has had all erasures of its ledger"),
            None => {}
        }
    }
    if let Some(left) = repeated.as_ref().and_then(|repeated| repeated.left.first()) {
        return Err(Failure::partial(format!(
            "bytes of erased people may be left in {left}"
        )));
    }
    if arguments.adopt && report.needs_catalog() {
        let adopted = arguments.wait.until_free(|| adopt(&arguments.data))?;
        return say(&adopted);
    }
    match report.findings.len() + beside.len() {
        0 => Ok(()),
        1 => Err(Failure::partial("the lake is damaged: 1 finding")),
        more => Err(Failure::partial(format!("the lake is damaged: {more} findings"))),
    }
}

/// Brings times of the future to the present. Returns `None` if there are none.
fn mend_times(arguments: &Args) -> Result<Option<Mended>, Failure> {
    let lake = Lake::open(&arguments.data).map_err(Failure::from_lake)?;
    let mut writer = arguments.wait.until_free(|| lake.writer())?;
    writer.mend_times().map_err(Failure::other)
}

/// Prints which erasures were repeated.
fn tell_repeated(repeated: &Repeated) {
    println!(
        "repeated {} erasures of the ledger: records of {} owners were erased, {} consents and authorizations ended",
        repeated.missed, repeated.owners, repeated.ended
    );
}

/// Prints what was mended.
fn tell(mended: &Mended) {
    let (latest, time) = (instant(mended.latest), instant(mended.time));
    let resources: u64 = mended.resources.values().sum();
    println!(
        "mended {resources} resources: times up to {latest} are now {time} (snapshot {})",
        mended.snapshot
    );
    for ((mode, name), count) in &mended.resources {
        println!("  {}.{name}: {count}", mode.schema());
    }
}

fn instant(micros: i64) -> String {
    let time = chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default();
    time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Prints the result of making a new catalog. Fails with exit code 3 if some data files could not be used.
fn say(adopted: &Adopted) -> Result<(), Failure> {
    println!(
        "made a new catalog: {} resources in {} data files",
        adopted.rows, adopted.files
    );
    if adopted.attachments > 0 {
        println!("{} attachments are in it", adopted.attachments);
    }
    if let Some(path) = &adopted.old_catalog {
        println!("the old one is kept as {}", path.display());
    }
    if adopted.moved_aside > 0 {
        println!(
            "{} files that are not needed were moved to data/.orphans",
            adopted.moved_aside
        );
    }
    if adopted.removed > 0 {
        println!("{} files from before an erasure were removed", adopted.removed);
    }
    if adopted.erasures > 0 {
        println!(
            "{} erasures were not over: nobody is shown such records, and the next command that writes finishes them",
            adopted.erasures
        );
    }
    if adopted.carried_out > 0 {
        println!(
            "the {} erasures of the lake in its ledger count as carried out: if these files are an older copy, restore a backup instead",
            adopted.carried_out
        );
    }
    let Some(kept_in) = &adopted.kept_in else {
        return Ok(());
    };
    for (path, why) in &adopted.unfit {
        println!("{}: {why}", path.display());
    }
    Err(Failure::partial(format!(
        "{} files could not be taken and are kept in {}",
        adopted.unfit.len(),
        kept_in.display()
    )))
}

/// Returns the result of the check as JSON, with all findings.
fn object(report: &Report, beside: &[Beside], (mended, repeated): (Option<&Mended>, Option<&Repeated>)) -> Value {
    let of_lake = report
        .findings
        .iter()
        .map(|finding| json!({"path": finding.path.display().to_string(), "problem": finding.problem.to_string()}));
    let beside = beside
        .iter()
        .map(|Beside { path, problem }| json!({"path": path.display().to_string(), "problem": problem}));
    let mended = mended.map(|mended| {
        let resources = mended.resources.iter();
        json!({
            "snapshot": mended.snapshot, "time": instant(mended.time), "latest": instant(mended.latest),
            "resources": resources
                .map(|((mode, name), count)| json!({"mode": mode.schema(), "type": name, "count": count}))
                .collect::<Vec<_>>(),
        })
    });
    json!({
        "files": report.files, "bytes": report.bytes, "findings": beside.chain(of_lake).collect::<Vec<_>>(),
        "movedAside": report.moved_aside, "leftovers": report.leftovers,
        "beingWritten": report.being_written,
        "secondsAhead": report.ahead.map(|ahead| ahead.as_secs()), "mended": mended,
        "repeated": repeated.map(|repeated| {
            json!({"erasures": repeated.missed, "owners": repeated.owners, "ended": repeated.ended, "left": repeated.left})
        }),
    })
}

fn print(report: &Report, took: Duration) {
    for finding in report.findings.iter().take(PRINTED) {
        println!("{}: {}", finding.path.display(), finding.problem);
    }
    if let Some(more) = report.findings.len().checked_sub(PRINTED).filter(|more| *more > 0) {
        println!("... and {more} more");
    }
    let (files, seconds) = (report.files, took.as_secs_f64());
    println!("{files} files of {} checked in {seconds:.2} s", bytes(report.bytes));
    if report.leftovers > 0 {
        println!(
            "{} files are leftovers of an interrupted writer, and no damage; the next command that writes moves them aside",
            report.leftovers
        );
    }
    if report.moved_aside > 0 {
        println!(
            "{} files of interrupted writers lie in data/.orphans and go after a day",
            report.moved_aside
        );
    }
    if report.being_written {
        println!("not looked for files that the catalog does not name, because another process is writing");
    }
}
