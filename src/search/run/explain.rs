//! Explains an answer: the conditions with the leaves that they read and the way the search ran. For each step it shows
//! what the scan kept and skipped and why, the bytes read, cache hits and time. Text for people, JSON for programs.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::SearchError;
use super::super::criteria::filter;
use super::super::engine::{Engine, Request};
use super::super::joins::binding::Bound;
use super::super::parameters::query::Query;
use super::system::SystemRequest;
use super::trace::Trace;
use crate::fhir::{TypeId, facts};
use crate::lake::scan::{Person, ScanReport, ScopedTable, Seen, SeenPerson, SeenRows, SeenScan};

/// The explanation of an answer.
#[derive(Debug, Default)]
pub struct Explanation {
    /// The searched tables.
    pub(in crate::search) parts: Vec<Part>,
    pub(in crate::search) steps: Vec<Step>,
}

/// The form of an explanation in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The search of one table.
#[derive(Debug)]
pub(in crate::search) struct Part {
    ty: TypeId,
    snapshot: u64,
    way: String,
    /// Each condition, and the leaves that it reads.
    criteria: Vec<(String, Vec<String>)>,
    /// The sort parameters. Descending ones have a `-`.
    sort: Vec<String>,
}

/// A step of a search.
#[derive(Debug)]
pub(in crate::search) struct Step {
    pub(in crate::search) name: &'static str,
    pub(in crate::search) time: Duration,
    /// The size of its result, if it can be counted.
    pub(in crate::search) rows: Option<usize>,
    /// The plans that ran.
    pub(in crate::search) plans: Vec<String>,
    pub(in crate::search) seen: Seen,
}

impl Engine {
    /// Runs a search as [`Engine::search`] does, and explains it. The page has the explanation too, in an entry of mode
    /// `outcome`.
    pub async fn search_explained(
        &self,
        request: &Request<'_>,
        form: Form,
    ) -> Result<(Bytes, Explanation), SearchError> {
        let trace = Trace::on(form);
        let page = self.search_traced(request, trace.clone()).await?;
        Ok((page, trace.explanation()))
    }

    /// The same for [`Engine::search_system`].
    pub async fn search_system_explained(
        &self,
        request: &SystemRequest<'_>,
        form: Form,
    ) -> Result<(Bytes, Explanation), SearchError> {
        let trace = Trace::on(form);
        let page = self.search_system_traced(request, trace.clone()).await?;
        Ok((page, trace.explanation()))
    }
}

impl Part {
    /// The search of a table, its conditions on other resources answered.
    pub(in crate::search) fn of(query: &Query, table: &ScopedTable, bound: &Bound) -> Part {
        let leaves = |criterion| filter::leaves(std::slice::from_ref(criterion)).into_iter().collect();
        let criteria = query.criteria.iter();
        let key = |key: &super::super::parameters::query::SortKey| {
            let sign = if key.descending { "-" } else { "" };
            format!("{sign}{}", key.compiled.parameter.code)
        };
        Part {
            ty: query.ty,
            snapshot: table.snapshot(),
            way: way(bound),
            criteria: criteria
                .map(|criterion| (criterion.label.clone(), leaves(criterion)))
                .collect(),
            sort: query.sort.iter().map(key).collect(),
        }
    }
}

fn way(bound: &Bound) -> String {
    match (bound.person, &bound.owners) {
        (Some(Person::OfScope), _) => "over the columns of the token's patient, without a plan".to_owned(),
        (Some(_), _) => "over the columns of the one patient that it names, without a plan".to_owned(),
        (None, Some(owners)) => format!("a scan of the rows of {} owners", owners.len()),
        (None, None) => "a scan of the table".to_owned(),
    }
}

impl Explanation {
    /// `Server-Timing`: each step with its milliseconds.
    pub fn server_timing(&self) -> String {
        let step = |step: &Step| format!("{};dur={:.3}", step.name, step.time.as_secs_f64() * 1e3);
        let steps: Vec<String> = self.steps.iter().map(step).collect();
        steps.join(", ")
    }

    /// For programs; times are in microseconds.
    pub fn to_json(&self) -> Value {
        let part = |part: &Part| {
            let criterion = |(label, leaves): &(String, Vec<String>)| json!({"condition": label, "reads": leaves});
            json!({
                "type": name(part.ty), "snapshot": part.snapshot, "way": part.way, "sort": part.sort,
                "criteria": part.criteria.iter().map(criterion).collect::<Vec<_>>(),
            })
        };
        let step = |step: &Step| {
            let kept = step.seen.kept.iter().map(|(what, kept)| {
                let counts = json!({"hits": kept.hits, "misses": kept.misses});
                ((*what).to_owned(), counts)
            });
            json!({
                "step": step.name, "time": micros(step.time), "rows": step.rows, "plans": step.plans,
                "scans": step.seen.scans.iter().map(scan_json).collect::<Vec<_>>(),
                "people": step.seen.people.iter().map(person_json).collect::<Vec<_>>(),
                "fetched": step.seen.fetched.iter().map(rows_json).collect::<Vec<_>>(),
                "memory": kept.collect::<Map<_, _>>(),
            })
        };
        json!({
            "searches": self.parts.iter().map(part).collect::<Vec<_>>(),
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
            "time": micros(self.time()),
        })
    }

    fn time(&self) -> Duration {
        self.steps.iter().map(|step| step.time).sum()
    }
}

fn name(ty: TypeId) -> &'static str {
    facts().get(ty).name
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn scan_json(scan: &SeenScan) -> Value {
    let report = &scan.report;
    let steps = report.steps.iter().map(|(label, step)| {
        json!({
            "condition": &**label, "rowsIn": step.rows_in, "rowsOut": step.rows_out,
            "rowGroups": step.row_groups, "rowGroupsEmptied": step.row_groups_emptied, "time": micros(step.time),
        })
    });
    let reasons = report
        .pruned_by
        .iter()
        .map(|(reason, groups)| (reason.to_string(), json!(groups)));
    json!({
        "type": name(scan.ty), "leaves": scan.leaves, "statistics": scan.prune, "owners": scan.owners,
        "files": {"all": report.files, "read": report.files - report.files_pruned,
            "openedInVain": report.files_opened_in_vain, "skipped": skipped_files(scan),
            "notNeeded": files_not_needed(scan)},
        "rowGroups": {"met": report.row_groups, "read": report.row_groups - report.row_groups_pruned,
            "skipped": report.row_groups_pruned, "why": reasons.collect::<Map<_, _>>()},
        "rows": {"met": report.rows, "pruned": report.rows_pruned, "dropped": report.rows_filtered,
            "notNeeded": report.rows_not_needed(), "out": report.rows_out},
        "conditions": steps.collect::<Vec<_>>(),
        "bytes": report.bytes(), "bytesByLeaf": report.bytes_by_leaf,
        "time": {"prune": micros(report.prune_time), "read": micros(report.read_time),
            "conditions": micros(report.filter_time)},
    })
}

/// Files that have no wanted rows according to the catalog: other people's files, or files outside the page.
fn skipped_files(scan: &SeenScan) -> usize {
    scan.report.files.saturating_sub(scan.files_met)
}

/// Files that were not opened because the search had enough before.
fn files_not_needed(scan: &SeenScan) -> usize {
    let ScanReport {
        files,
        files_pruned,
        files_opened_in_vain,
        ..
    } = scan.report;
    (files_pruned.min(files)).saturating_sub(files_opened_in_vain + skipped_files(scan))
}

fn person_json(person: &SeenPerson) -> Value {
    json!({
        "type": name(person.ty), "rows": person.rows, "columnsInMemory": person.columns_kept,
        "columnsRead": person.columns_read, "bytes": person.bytes, "time": micros(person.time),
    })
}

fn rows_json((ty, rows): (&TypeId, &SeenRows)) -> Value {
    json!({
        "type": name(*ty), "asked": rows.asked, "found": rows.found, "bytes": rows.bytes, "time": micros(rows.time),
    })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            writeln!(f, "{} in snapshot {}: {}", name(part.ty), part.snapshot, part.way)?;
            for (label, leaves) in &part.criteria {
                writeln!(f, "  {label}  reads {}", leaves.join(", "))?;
            }
            if !part.sort.is_empty() {
                writeln!(f, "  sorted by {}, then id", part.sort.join(", "))?;
            }
        }
        for step in &self.steps {
            let time = format!("{:?}", step.time);
            match step.rows {
                Some(rows) => writeln!(f, "{:<8} {time:>12} {rows:>8} rows", step.name)?,
                None => writeln!(f, "{:<8} {time:>12}", step.name)?,
            }
            read(&step.seen, f)?;
            for line in step.plans.iter().flat_map(|plan| plan.lines()) {
                writeln!(f, "    {line}")?;
            }
        }
        writeln!(f, "{:<8} {:>12}", "together", format!("{:?}", self.time()))
    }
}

/// The reads of a step.
fn read(seen: &Seen, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for scan in &seen.scans {
        let leaves = match scan.leaves.is_empty() {
            true => "their number".to_owned(),
            false => scan.leaves.join(", "),
        };
        writeln!(f, "  {}: scanned for {leaves}", name(scan.ty))?;
        if let Some(owners) = scan.owners {
            writeln!(f, "    owners      {owners}; the files of others are not opened")?;
        }
        if let Some(prune) = &scan.prune {
            writeln!(f, "    statistics  {prune}")?;
        }
        report(scan, f)?;
    }
    for person in &seen.people {
        writeln!(
            f,
            "  {}: {} rows of one person, {} columns in memory, {} read ({} bytes), {:?}",
            name(person.ty),
            person.rows,
            person.columns_kept,
            person.columns_read,
            person.bytes,
            person.time
        )?;
    }
    for (ty, rows) in &seen.fetched {
        writeln!(
            f,
            "  {}: {} of {} resources fetched, {} bytes, {:?}",
            name(*ty),
            rows.found,
            rows.asked,
            rows.bytes,
            rows.time
        )?;
    }
    if !seen.kept.is_empty() {
        let kept = seen
            .kept
            .iter()
            .map(|(what, kept)| format!("{what}: {} found, {} read", kept.hits, kept.misses));
        writeln!(f, "  in memory   {}", kept.collect::<Vec<_>>().join("; "))?;
    }
    Ok(())
}

fn report(scan: &SeenScan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let report = &scan.report;
    write!(
        f,
        "    files       {} of {} read",
        report.files - report.files_pruned,
        report.files
    )?;
    if report.files_opened_in_vain > 0 {
        write!(f, ", {} opened in vain", report.files_opened_in_vain)?;
    }
    for (files, why) in [
        (skipped_files(scan), "skipped: of others, or not of the page"),
        (files_not_needed(scan), "not needed: there was enough before"),
    ] {
        if files > 0 {
            write!(f, "; {files} {why}")?;
        }
    }
    let read = report.row_groups - report.row_groups_pruned;
    write!(f, "\n    row groups  {read} of {} met are read", report.row_groups)?;
    for (reason, groups) in &report.pruned_by {
        write!(f, "; {groups} skipped: {reason}")?;
    }
    write!(
        f,
        "\n    rows        {} met, {} pruned, {} dropped by conditions, {} out",
        report.rows, report.rows_pruned, report.rows_filtered, report.rows_out
    )?;
    match report.rows_not_needed() {
        0 => writeln!(f)?,
        rows => writeln!(f, ", {rows} not needed")?,
    }
    for (label, step) in &report.steps {
        writeln!(
            f,
            "      {label}: {} in, {} out, nothing left of {} of {} row groups, {:?}",
            step.rows_in, step.rows_out, step.row_groups_emptied, step.row_groups, step.time
        )?;
    }
    writeln!(
        f,
        "    time        prune {:?}, read {:?}, conditions {:?}, over all threads\n    bytes       {}",
        report.prune_time,
        report.read_time,
        report.filter_time,
        report.bytes()
    )?;
    for (leaf, bytes) in &report.bytes_by_leaf {
        writeln!(f, "      {bytes:>12}  {leaf}")?;
    }
    Ok(())
}
