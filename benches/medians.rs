//! The medians of a run as a table, read from what criterion wrote.

use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

/// Prints the median of each bench that was measured since `started`.
pub(crate) fn print(results: &Path, started: SystemTime) {
    let mut found = Vec::new();
    collect(results, started, &mut found);
    found.sort_by(|one, other| one.0.cmp(&other.0));
    for (name, nanoseconds, elements) in found {
        let rate = elements.map(|many| format!("{:>12.0} elements/s", many * 1e9 / nanoseconds));
        println!(
            "{name:<44} median {:>12.3} us {}",
            nanoseconds / 1e3,
            rate.unwrap_or_default()
        );
    }
}

/// Looks for folders with `new/estimates.json` and `new/benchmark.json`.
fn collect(folder: &Path, started: SystemTime, found: &mut Vec<(String, f64, Option<f64>)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let estimates = path.join("new/estimates.json");
        let fresh = estimates
            .metadata()
            .and_then(|meta| meta.modified())
            .is_ok_and(|at| at >= started);
        if let (true, Some(estimates), Some(bench)) = (fresh, json(&estimates), json(&path.join("new/benchmark.json")))
        {
            let name = bench["full_id"].as_str().unwrap_or_default().to_owned();
            let median = estimates["median"]["point_estimate"].as_f64().unwrap_or_default();
            found.push((name, median, bench["throughput"]["Elements"].as_f64()));
        } else {
            collect(&path, started, found);
        }
    }
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
