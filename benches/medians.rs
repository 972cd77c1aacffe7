//! Prints the medians of a run as a table, from criterion's files.

use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

/// Prints the median of each bench measured since `started`.
pub(crate) fn print(results: &Path, started: SystemTime) {
    let mut found = Vec::new();
    collect(results, started, &mut found);
    found.sort_by(|one: &Median, other| one.name.cmp(&other.name));
    for Median { name, nanoseconds, per } in found {
        let rate = per.map(|(many, what)| format!("{:>14.0} {what}/s", many * 1e9 / nanoseconds));
        println!(
            "{name:<44} median {:>12.3} us {}",
            nanoseconds / 1e3,
            rate.unwrap_or_default()
        );
    }
}

/// The time of a bench, and the amount that it processed.
struct Median {
    name: String,
    nanoseconds: f64,
    per: Option<(f64, &'static str)>,
}

/// Searches for folders with `new/estimates.json` and `new/benchmark.json`.
fn collect(folder: &Path, started: SystemTime, found: &mut Vec<Median>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let estimates = path.join("new/estimates.json");
        let fresh = estimates
            .metadata()
            .and_then(|meta| meta.modified())
            .is_ok_and(|at| at >= started);
        if let (true, Some(estimates), Some(bench)) = (fresh, json(&estimates), json(&path.join("new/benchmark.json")))
        {
            let per = |unit: &str, what| Some((bench["throughput"][unit].as_f64()?, what));
            found.push(Median {
                name: bench["full_id"].as_str().unwrap_or_default().to_owned(),
                nanoseconds: estimates["median"]["point_estimate"].as_f64().unwrap_or_default(),
                per: per("Elements", "rows").or_else(|| per("Bytes", "bytes")),
            });
        } else {
            collect(&path, started, found);
        }
    }
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
