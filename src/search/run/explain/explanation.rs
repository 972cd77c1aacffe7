//! Explains an answer: its conditions with the leaves that they read, and the way in which the search ran. For each
//! step, the explanation states what the scans kept and skipped and why, the bytes read, the cache hits and the time.
//! An explanation is text for people, or JSON for programs.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::fhir::{TypeId, facts};
use crate::lake::scan::{Seen, SeenPerson, SeenRows, SeenScan};

/// The explanation of an answer.
#[derive(Debug, Default)]
pub struct Explanation {
    /// How each table was searched.
    pub(in crate::search) parts: Vec<Part>,
    pub(in crate::search) steps: Vec<Step>,
}

/// The form of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}

/// The search of one table.
#[derive(Debug)]
pub(in crate::search) struct Part {
    pub(in crate::search) type_id: TypeId,
    pub(in crate::search) snapshot: u64,
    pub(in crate::search) way: String,
    /// Each criterion as text, with the leaves that its evaluation reads.
    pub(in crate::search) criteria: Vec<(String, Vec<String>)>,
    /// The parameters of the sort keys. Descending keys begin with `-`.
    pub(in crate::search) sort: Vec<String>,
}

/// A step of a search.
#[derive(Debug)]
pub(in crate::search) struct Step {
    pub(in crate::search) name: &'static str,
    pub(in crate::search) time: Duration,
    /// The number of rows in the step's result, if they can be counted.
    pub(in crate::search) rows: Option<usize>,
    /// The texts of the plans that ran.
    pub(in crate::search) plans: Vec<String>,
    pub(in crate::search) seen: Seen,
}

impl Explanation {
    /// Returns the value of the header `Server-Timing`: each step with its milliseconds.
    pub fn server_timing(&self) -> String {
        let step = |step: &Step| format!("{};dur={:.3}", step.name, step.time.as_secs_f64() * 1e3);
        let steps: Vec<String> = self.steps.iter().map(step).collect();
        steps.join(", ")
    }

    /// Returns the explanation as JSON. Times are in microseconds.
    pub fn to_json(&self) -> Value {
        let part = |part: &Part| {
            let criterion = |(label, leaves): &(String, Vec<String>)| json!({"condition": label, "reads": leaves});
            json!({
                "type": name(part.type_id), "snapshot": part.snapshot, "way": part.way, "sort": part.sort,
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
                "scans": step.seen.scans.iter().map(SeenScan::to_json).collect::<Vec<_>>(),
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

fn name(type_id: TypeId) -> &'static str {
    facts().get(type_id).name
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn person_json(person: &SeenPerson) -> Value {
    json!({
        "type": name(person.type_id), "rows": person.rows, "columnsInMemory": person.columns_kept,
        "columnsRead": person.columns_read, "bytes": person.bytes, "time": micros(person.time),
    })
}

fn rows_json((type_id, rows): (&TypeId, &SeenRows)) -> Value {
    json!({
        "type": name(*type_id), "asked": rows.asked, "found": rows.found, "bytes": rows.bytes, "time": micros(rows.time),
    })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            writeln!(f, "{} in snapshot {}: {}", name(part.type_id), part.snapshot, part.way)?;
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

/// Writes what a step has read.
fn read(seen: &Seen, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for scan in &seen.scans {
        write!(f, "{scan}")?;
    }
    for person in &seen.people {
        writeln!(
            f,
            "  {}: {} rows of one person, {} columns in memory, {} read ({} bytes), {:?}",
            name(person.type_id),
            person.rows,
            person.columns_kept,
            person.columns_read,
            person.bytes,
            person.time
        )?;
    }
    for (type_id, rows) in &seen.fetched {
        writeln!(
            f,
            "  {}: {} of {} resources fetched, {} bytes, {:?}",
            name(*type_id),
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
