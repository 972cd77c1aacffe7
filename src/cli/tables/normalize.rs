//! `tabularium normalize`: shows what the rules of normalization would change, and applies them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use similar::TextDiff;

use super::super::lake::wait::Wait;
use super::super::service::data_store::open;
use super::super::terminal::columns::{grouped, listed};
use super::super::terminal::failure::Failure;
use super::super::terminal::input::{Kept, is_standard};
use super::{plans, terminology};
use crate::columns::json::pretty;
use crate::consent::{Clock, Store};
use crate::fhir::facts;
use crate::ingest::{self, Change, IngestError, Normalization, Observer, Options, Summary};
use crate::lake::Lake;
use crate::normalize::{Counts, Day, Knowledge, Report};

/// The beginning of the systems of the tags that the rules add to records from files. For the stored records of a data
/// folder, the systems begin with the server's address. They begin with this text if no server has run on the folder.
const TAG_SYSTEM_BASE: &str = "urn:tabularium:tags";
const SECONDS_OF_A_DAY: i64 = 86_400;
/// The number of unchanged lines before and after each difference.
const CONTEXT: usize = 2;

/// Normalize records: resources made from claims, codes and displays, references, required elements
///
/// For files and folders the command needs --dry-run, and shows what `import --normalize` would do. For consents
/// (--consent) it applies the rules again to the stored records, for example after a new terminology was loaded; with
/// --dry-run nothing is stored.
///
/// It prints for each rule: resources made, elements changed, elements left as they are, references that lead nowhere.
/// --diff prints each resource that is made, changed or deleted, with its contents.
///
/// Exit codes: 0 done; 2 bad input; 1 another failure, nothing stored.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Store nothing
    #[arg(long)]
    dry_run: bool,
    /// Print what is made, changed and deleted
    #[arg(long)]
    diff: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The data folder
    #[arg(long, value_name = "DIR", requires = "consent")]
    data: Option<PathBuf>,
    /// The consents whose records are normalized
    #[arg(long, value_name = "ID", requires = "data", conflicts_with = "paths")]
    consent: Vec<String>,
    #[command(flatten)]
    wait: Wait,
    /// Files and folders; - is standard input
    #[arg(value_name = "PATH", required_unless_present = "consent")]
    paths: Vec<PathBuf>,
}

/// Returns the rules with today's date. The systems of tags begin with `urn:tabularium:tags`.
pub(in crate::cli) fn rules(knowledge: Knowledge) -> Normalization {
    rules_of(TAG_SYSTEM_BASE.to_owned(), knowledge)
}

/// Returns the rules that a server of the data folder uses: the systems of tags begin with the address at which the
/// folder was last served.
pub(in crate::cli) fn rules_in(data: &Path) -> Result<Normalization, Failure> {
    let base = Store::last_base_url(data);
    let base = base.map_or_else(|| TAG_SYSTEM_BASE.to_owned(), |base| format!("{base}/tags"));
    Ok(rules_of(base, knowledge(data)?))
}

/// Opens the knowledge of a data folder: terminology and plans beside its lake, and HL7's own terminology.
pub(in crate::cli) fn knowledge(data: &Path) -> Result<Knowledge, Failure> {
    Ok(Knowledge {
        codes: terminology::open(data, None)?,
        plans: plans::open(data)?,
    })
}

fn rules_of(tag_system_base: String, knowledge: Knowledge) -> Normalization {
    let days = Clock::System.now().div_euclid(SECONDS_OF_A_DAY);
    Normalization {
        knowledge,
        today: Day(i32::try_from(days).unwrap_or_default()),
        tag_system_base,
        observer: None,
        dangling: BTreeMap::new(),
    }
}

/// Applies the rules, and prints the counts of each rule. With `--diff`, also prints the changed resources.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let diffs = Diffs::default();
    let observer = arguments.diff.then(|| diffs.observer(arguments.json));
    let report = match &arguments.data {
        Some(data) => {
            let (store, lake) = (open(data)?, Lake::open(data).map_err(Failure::from_lake)?);
            consents(&arguments, &store, &lake, observer)?
        }
        None => files(&arguments, observer)?,
    };
    if arguments.json {
        let answer = Answer {
            dry_run: arguments.dry_run,
            rules: rules_object(&report),
            resources: arguments.diff.then(|| diffs.sides()),
        };
        let text = serde_json::to_vec(&answer).map_err(Failure::other)?;
        println!("{}", String::from_utf8_lossy(&pretty(&text)));
        return Ok(());
    }
    diffs.print();
    print!("{}", table(&report));
    Ok(())
}

/// Normalizes files as an import would, without storing them, and returns the counts of each rule.
fn files(arguments: &Args, observer: Option<Observer>) -> Result<Report, Failure> {
    if !arguments.dry_run {
        return Err(Failure::input(
            "files are normalized by `tabularium import --normalize`; here they need --dry-run",
        ));
    }
    let missing = arguments.paths.iter().find(|path| !is_standard(path) && !path.exists());
    if let Some(missing) = missing {
        return Err(Failure::input(format!("{}: no such file or folder", missing.display())));
    }
    let kept = Kept::new(arguments.paths.clone())?;
    let folder = tempfile::tempdir().map_err(Failure::other)?;
    let lake = Lake::open_or_create(folder.path()).map_err(Failure::from_lake)?;
    let mut writer = lake.writer().map_err(Failure::from_lake)?;
    let options = Options {
        normalize: Some(Normalization {
            observer,
            ..rules(knowledge(folder.path())?)
        }),
        dry_run: true,
        ..Options::default()
    };
    let summary = ingest::import(&mut writer, options, &kept.paths).map_err(failed)?;
    Ok(summary.rules)
}

/// Applies the rules to the records of each given consent, and stores the changes as one snapshot for each consent.
/// With `--dry-run`, stores nothing.
fn consents(arguments: &Args, store: &Store, lake: &Lake, observer: Option<Observer>) -> Result<Report, Failure> {
    let data = arguments.data.as_deref().unwrap_or(Path::new("."));
    let rules = Normalization {
        observer,
        ..rules_in(data)?
    };
    let mut writer = arguments.wait.writer(lake)?;
    let mut report = Report::default();
    for id in &arguments.consent {
        let consent = store.consents().get(id).map_err(Failure::other)?;
        let consent = consent.ok_or_else(|| Failure::input(format!("there is no consent {id:?}")))?;
        let Some(owner) = consent.owner else { continue };
        let options = Options {
            mode: consent.mode,
            application: consent.application,
            normalize: Some(rules.clone()),
            dry_run: arguments.dry_run,
            ..Options::default()
        };
        let Summary { rules, .. } = ingest::normalize_again(&mut writer, options, owner).map_err(failed)?;
        report.add(&rules);
    }
    Ok(report)
}

fn failed(error: IngestError) -> Failure {
    match error {
        IngestError::Input { .. } | IngestError::Broken { .. } => Failure::input(error.to_string()),
        error => Failure::other(error),
    }
}

/// Formats the counts of each rule as a table.
pub(in crate::cli) fn table(report: &Report) -> String {
    rules_table(report.rules.iter().map(|(rule, counts)| (rule.name(), counts)))
}

/// Returns the counts of each rule as JSON.
pub(in crate::cli) fn rules_object(report: &Report) -> Value {
    let rules = report.rules.iter().map(|(rule, counts)| {
        let counts = json!({"made": counts.made, "changed": counts.changed, "left": counts.left,
                            "dangling": counts.dangling});
        (rule.name().to_owned(), counts)
    });
    rules.collect::<Map<String, Value>>().into()
}

/// Formats counts as a table, one row for each rule name.
pub(in crate::cli) fn rules_table<'a>(rules: impl Iterator<Item = (&'a str, &'a Counts)>) -> String {
    let rows: Vec<[String; 5]> = rules
        .map(|(rule, counts)| {
            [
                rule.to_owned(),
                grouped(counts.made),
                grouped(counts.changed),
                grouped(counts.left),
                grouped(counts.dangling),
            ]
        })
        .collect();
    listed(["rule", "made", "changed", "left", "dangling"], &rows)
}

/// The differences by type and id. The map keeps an order that does not depend on the threads.
#[derive(Clone, Debug, Default)]
struct Diffs(Arc<Mutex<BTreeMap<String, Shown>>>);

/// A difference as text for people, or as an object for programs.
#[derive(Clone, Debug)]
enum Shown {
    Text(String),
    Object(Sides),
}

/// The JSON output of the command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    dry_run: bool,
    rules: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Vec<Sides>>,
}

/// A resource before and after normalization, with its text as written. `before` is null for a new resource, and
/// `after` for a deleted one.
#[derive(Clone, Debug, Serialize)]
struct Sides {
    resource: String,
    before: Option<Box<RawValue>>,
    after: Option<Box<RawValue>>,
}

impl Diffs {
    fn observer(&self, as_json: bool) -> Observer {
        let diffs = self.clone();
        Observer::new(move |change| {
            let shown = if as_json {
                Shown::Object(sides(change))
            } else {
                Shown::Text(diff(change))
            };
            let mut known = diffs.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(name(change), shown);
        })
    }

    /// Returns each changed resource before and after normalization.
    fn sides(&self) -> Vec<Sides> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = known.values().filter_map(|shown| match shown {
            Shown::Object(object) => Some(object.clone()),
            Shown::Text(_) => None,
        });
        objects.collect()
    }

    fn print(&self) {
        for shown in self.0.lock().unwrap_or_else(PoisonError::into_inner).values() {
            if let Shown::Text(diff) = shown {
                print!("{diff}");
            }
        }
    }
}

fn name(change: &Change<'_>) -> String {
    format!("{}/{}", facts().get(change.resource_type).name, change.id)
}

fn sides(change: &Change<'_>) -> Sides {
    let raw = |text: Option<&str>| text.and_then(|text| RawValue::from_string(text.to_owned()).ok());
    Sides {
        resource: name(change),
        before: raw(change.before),
        after: raw(change.after),
    }
}

/// Returns a unified diff of a resource before and after normalization, with one element per line.
fn diff(change: &Change<'_>) -> String {
    let name = name(change);
    let lines = |text: Option<&str>| {
        text.map_or_else(String::new, |text| {
            format!("{}\n", String::from_utf8_lossy(&pretty(text.as_bytes())))
        })
    };
    let (before, after) = (lines(change.before), lines(change.after));
    let side = |text: &str| {
        if text.is_empty() {
            "/dev/null".to_owned()
        } else {
            name.clone()
        }
    };
    TextDiff::from_lines(&before, &after)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&side(&before), &side(&after))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_keep_digits_and_order_as_written() {
        let text = r#"{"resourceType":"Observation","valueQuantity":{"value":1.50,"code":"g"}}"#;
        let change = Change {
            resource_type: facts().lookup("Observation").unwrap(),
            id: "o",
            before: None,
            after: Some(text),
        };
        let sides = serde_json::to_string(&sides(&change)).unwrap();
        assert_eq!(
            sides,
            format!(r#"{{"resource":"Observation/o","before":null,"after":{text}}}"#)
        );
        assert!(diff(&change).contains("+    \"value\": 1.50,\n+    \"code\": \"g\"\n"));
    }
}
