//! Reads the file or folder that the option `--terminology` names.

use std::path::{Path, PathBuf};

use super::error::TerminologyError;
use super::sets::raw;
use super::sets::raw::Resource;
use crate::published::{MAX_DEPTH, PublishedError};

/// Calls `each` with the CodeSystems and ValueSets of a file, or of all files in a folder and its subfolders. Skips
/// hidden subfolders, and subfolders that are nested too deep.
pub(super) fn read(path: &Path, each: &mut dyn FnMut(Resource)) -> Result<(), TerminologyError> {
    if !path.is_dir() {
        return read_file(path, each);
    }
    let mut files = Vec::new();
    gather(path, MAX_DEPTH, &mut files)?;
    files.sort_unstable();
    files.iter().try_for_each(|file| read_file(file, each))
}

fn gather(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), TerminologyError> {
    let unreadable = |source| PublishedError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            if depth > 0 && !is_hidden(&path) {
                gather(&path, depth - 1, files)?;
            }
        } else if is_resource_file(&path) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Whether to read a file for resources. It must end with `.json` or `.ndjson`. The description of a package
/// (`package.json`) and hidden files (`.index.json`) have no resources.
fn is_resource_file(path: &Path) -> bool {
    let of_type = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json") || is_lines(path));
    of_type && !is_hidden(path) && path.file_name().is_none_or(|name| name != "package.json")
}

fn is_lines(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("ndjson"))
}

fn read_file(path: &Path, each: &mut dyn FnMut(Resource)) -> Result<(), TerminologyError> {
    let text = std::fs::read_to_string(path).map_err(|source| PublishedError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let malformed = |source| TerminologyError::Malformed {
        path: path.to_owned(),
        source,
    };
    if is_lines(path) {
        text.lines()
            .filter(|line| !line.trim().is_empty())
            .try_for_each(|line| raw::each_resource(line, each))
            .map_err(malformed)
    } else {
        raw::each_resource(text, each).map_err(malformed)
    }
}
