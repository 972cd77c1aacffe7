//! What the integration tests share: where the real records are, and a server to talk to.

pub(crate) mod command;
pub(crate) mod conformance;
#[allow(dead_code)]
pub(crate) mod consented;
pub(crate) mod json;
pub(crate) mod kills;
#[allow(dead_code)]
pub(crate) mod kind;
pub(crate) mod lake;
pub(crate) mod mutate;
pub(crate) mod payer;
pub(crate) mod plans;
pub(crate) mod process;
pub(crate) mod records;
pub(crate) mod report;
#[allow(dead_code)]
pub(crate) mod rogue;
pub(crate) mod schema;
pub(crate) mod server;
pub(crate) mod stored;
pub(crate) mod surfer;

use std::path::PathBuf;

/// The folder of shared real records, or `None` after saying so on one line.
#[allow(dead_code)]
pub(crate) fn shared(test: &str) -> Option<PathBuf> {
    match std::env::var_os("TABULARIUM_SHARED") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => {
            eprintln!("skipped {test}: TABULARIUM_SHARED is not set");
            None
        }
    }
}
