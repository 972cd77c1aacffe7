//! Formats a scan for `explain`, as text for people and as JSON for programs. Plans of searches, views and SQL queries
//! share this format.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::counts::ScanReport;
use super::watch::SeenScan;
use crate::fhir::{TypeId, facts};

impl SeenScan {
    /// Returns the scan as JSON. Times are in microseconds.
    pub fn to_json(&self) -> Value {
        let report = &self.report;
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
        let pages = report
            .pages
            .iter()
            .map(|(leaf, pages)| (leaf.to_string(), json!({"met": pages.met, "refuted": pages.refuted})));
        json!({
            "type": name(self.type_id), "leaves": self.leaves, "statistics": self.prune, "owners": self.owners,
            "files": {"all": report.files, "read": report.files - report.files_pruned,
                "openedInVain": report.files_opened_in_vain, "skipped": skipped_files(self),
                "notNeeded": files_not_needed(self)},
            "rowGroups": {"met": report.row_groups, "read": report.row_groups - report.row_groups_pruned,
                "skipped": report.row_groups_pruned, "why": reasons.collect::<Map<_, _>>()},
            "pages": pages.collect::<Map<_, _>>(),
            "rows": {"met": report.rows, "pruned": report.rows_pruned, "dropped": report.rows_filtered,
                "notNeeded": report.rows_not_needed(), "out": report.rows_out},
            "conditions": steps.collect::<Vec<_>>(),
            "bytes": report.bytes(), "bytesByLeaf": report.bytes_by_leaf,
            "time": {"prune": micros(report.prune_time), "read": micros(report.read_time),
                "conditions": micros(report.filter_time)},
        })
    }
}

impl fmt::Display for SeenScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaves = if self.leaves.is_empty() {
            "their number".to_owned()
        } else {
            self.leaves.join(", ")
        };
        writeln!(f, "  {}: scanned for {leaves}", name(self.type_id))?;
        if let Some(owners) = self.owners {
            writeln!(f, "    owners      {owners}; the files of others are not opened")?;
        }
        if let Some(prune) = &self.prune {
            writeln!(f, "    statistics  {prune}")?;
        }
        report(self, f)
    }
}

fn name(type_id: TypeId) -> &'static str {
    facts().get(type_id).name
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// Returns the number of files that the catalog excluded, because they have only rows of other owners, or only rows
/// outside of the scan's span.
fn skipped_files(scan: &SeenScan) -> usize {
    scan.report.files.saturating_sub(scan.files_met)
}

/// Returns the number of files that were not opened, because enough rows were found in other files.
fn files_not_needed(scan: &SeenScan) -> usize {
    let ScanReport {
        files,
        files_pruned,
        files_opened_in_vain,
        ..
    } = scan.report;
    (files_pruned.min(files)).saturating_sub(files_opened_in_vain + skipped_files(scan))
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
    for (at, (leaf, pages)) in report.pages.iter().enumerate() {
        let begin = if at == 0 { "\n    pages       " } else { "; " };
        write!(
            f,
            "{begin}{} of {} refuted: statistics of {leaf}",
            pages.refuted, pages.met
        )?;
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
