//! Files and folders that only their owner may read: everything with health records, or with access to them.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;

/// Makes a folder and its missing parents.
pub(crate) fn folder(path: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns options to open a file. A file that they create is readable by its owner alone.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
