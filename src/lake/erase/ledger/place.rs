//! The path of the ledger of a lake.

use std::path::{Path, PathBuf};

/// The environment variable that names the ledger's file.
pub const VARIABLE: &str = "TABULARIUM_ERASURES";
/// The suffix that turns the name of the data folder into the name of the ledger.
const SUFFIX: &str = ".erasures";

/// Returns the path of the ledger of the lake in `dir`: the value of [`VARIABLE`], or the folder's own path with
/// `.erasures` appended.
pub fn place(dir: &Path) -> PathBuf {
    if let Some(named) = named() {
        return named;
    }
    let dir = std::fs::canonicalize(dir)
        .or_else(|_| std::path::absolute(dir))
        .unwrap_or_else(|_| dir.to_owned());
    let mut name = dir.into_os_string();
    name.push(SUFFIX);
    PathBuf::from(name)
}

/// Returns the path in [`VARIABLE`], if it is set.
pub(super) fn named() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|named| !named.is_empty())?;
    std::path::absolute(named).ok()
}
