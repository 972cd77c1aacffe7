//! Reads files, or standard input if the path is `-`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::failure::Failure;
use crate::private;

/// The maximum number of bytes that are read of a small file.
const SMALL: u64 = 1 << 20;

/// Whether a path stands for standard input.
pub(in crate::cli) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Describes in words why a file cannot be read.
pub(in crate::cli) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "is a folder, not a file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// Opens a file or standard input.
pub(in crate::cli) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if is_standard(path) {
        Ok(Box::new(io::stdin().lock()))
    } else {
        Ok(Box::new(File::open(path)?))
    }
}

/// Reads a small file that the user has named, such as a logo. Refuses pipes and devices. Reads no more than 1 MiB, so
/// that the caller can refuse a file that is too large.
pub(in crate::cli) fn small_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = private::named(path).and_then(|file| file.take(SMALL).read_to_end(&mut bytes));
    read.map_err(|error| Failure::input(format!("{}: {}", path.display(), reason(&error))))?;
    Ok(bytes)
}

/// Replaces the path `-` by `/dev/stdin`. The caller can read `/dev/stdin` only one time.
pub(in crate::cli) fn standard_input(paths: &[PathBuf]) -> Vec<PathBuf> {
    let system = |path: &PathBuf| {
        if is_standard(path) {
            PathBuf::from("/dev/stdin")
        } else {
            path.clone()
        }
    };
    paths.iter().map(system).collect()
}

/// Fails if standard input is among the paths, for commands that need the names of files, or archives.
pub(in crate::cli) fn files_only(paths: &[PathBuf]) -> Result<(), Failure> {
    if paths.iter().any(|path| is_standard(path)) {
        return Err(Failure::input(
            "- is standard input, and this command takes only files, folders and ZIP archives",
        ));
    }
    Ok(())
}

/// Paths that can be read several times. Standard input is copied to a file in a temporary folder.
pub(in crate::cli) struct Kept {
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// The temporary folder. It is deleted when this value is dropped.
    _folder: Option<TempDir>,
}

impl Kept {
    /// Copies standard input to the temporary folder, if `-` is among the paths.
    pub(in crate::cli) fn new(paths: Vec<PathBuf>) -> Result<Kept, Failure> {
        if !paths.iter().any(|path| is_standard(path)) {
            return Ok(Kept { paths, _folder: None });
        }
        let failed = |error: io::Error| Failure::other(format!("standard input could not be read: {error}"));
        let folder = tempfile::Builder::new()
            .prefix("tabularium-")
            .tempdir()
            .map_err(failed)?;
        let file = folder.path().join("standard-input");
        File::create(&file)
            .and_then(|mut file| io::copy(&mut io::stdin().lock(), &mut file))
            .map_err(failed)?;
        let named = paths
            .into_iter()
            .map(|path| if is_standard(&path) { file.clone() } else { path });
        Ok(Kept {
            paths: named.collect(),
            _folder: Some(folder),
        })
    }
}
