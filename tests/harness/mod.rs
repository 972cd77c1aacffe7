//! Code that the integration tests share, such as the folder of real records and test servers.

mod lakes;
pub(crate) mod mutate;
pub(crate) mod plans;
mod processes;
mod reading;
mod servers;

pub(crate) use lakes::{kind, lake, records, stored};
pub(crate) use processes::{command, kills, process};
pub(crate) use reading::{conformance, json, report, schema};
pub(crate) use servers::{consented, payer, rogue, server, surfer};

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

/// The tests that were skipped so far in this run.
static SKIPPED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The folder of shared real records. Without it the result is `None`, and a line on standard error says which test
/// was skipped and how many were skipped so far. So the last of these lines has the number of all skipped tests.
#[allow(dead_code)]
pub(crate) fn shared(test: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("TABULARIUM_SHARED") {
        return Some(PathBuf::from(folder));
    }
    let mut skipped = SKIPPED.lock().unwrap();
    if skipped.insert(test.to_owned()) {
        let count = skipped.len();
        // The test runner hides `eprintln!` of a passing test. It does not hide bytes written to the stream.
        let _ = writeln!(
            std::io::stderr(),
            "skipped test {count}: {test}: TABULARIUM_SHARED is not set"
        );
    }
    None
}
