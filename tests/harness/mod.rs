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

use std::path::{Path, PathBuf};

/// The folder of shared real records, and of the suites of others.
///
/// It is not part of this repository. Tests that need it are ignored in builds without `TABULARIUM_SHARED`: they have
/// `#[cfg_attr(not(shared_records), ignore = "needs the shared records")]`, so the summary of `cargo test` counts them.
pub(crate) fn shared() -> PathBuf {
    shared_folder().expect("TABULARIUM_SHARED names the folder of shared records")
}

fn shared_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TABULARIUM_SHARED").filter(|folder| !folder.is_empty());
    folder.map(PathBuf::from)
}

/// Real records by their source.
pub(crate) struct Real {
    /// The folder `data`: a folder for each source.
    pub(crate) data: PathBuf,
    /// Whether these are all shared records, and not the excerpt in this repository.
    pub(crate) is_whole: bool,
}

/// The shared records if there are any, otherwise the excerpt of them in this repository.
pub(crate) fn real() -> Real {
    let whole = shared_folder().map(|folder| folder.join("data"));
    Real {
        is_whole: whole.is_some(),
        data: whole.unwrap_or_else(excerpt),
    }
}

/// The excerpt of real records in this repository, by their source.
pub(crate) fn excerpt() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/real/data")
}
