//! Makes folders.

use std::fs::DirBuilder;
use std::path::Path;

/// Makes a folder and its missing parents. Only the user of this process has access to them.
pub(crate) fn folder(path: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
