//! Makes files and folders that only the operating system's user of this process may read. They contain health records,
//! or something that gives access to health records.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;

/// Makes a folder and its missing parents. Only the user of this process has access to them.
pub(crate) fn folder(path: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns options to open a file. If the file is created, only the user of this process may read and write it.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
