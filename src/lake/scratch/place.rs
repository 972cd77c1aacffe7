//! Creates temporary files, and defines the authenticated data of their pieces.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::private;

/// The number of bytes in a piece, in clear. It is small, because a whole piece must be decrypted to read a few bytes.
pub(super) const PIECE: usize = 16 << 10;

/// Creates a file and removes its name at once. So the file disappears with the process, however the process ends.
/// Before the name is removed, only the process's user may open the file.
pub(super) fn unnamed(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("scratch-{}", uuid::Uuid::new_v4()));
    let file = private::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Returns the authenticated data of a piece: two numbers that say to which place the piece belongs.
pub(super) fn named(one: u64, other: u64) -> [u8; 16] {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&one.to_le_bytes());
    place[8..].copy_from_slice(&other.to_le_bytes());
    place
}

/// Returns the error for a piece that cannot be decrypted.
pub(super) fn changed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "a temporary file has other bytes than were written",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_process_may_read_the_file() {
        use std::os::unix::fs::MetadataExt;

        let folder = tempfile::tempdir().unwrap();
        let about = unnamed(folder.path()).unwrap().metadata().unwrap();
        assert_eq!((about.mode() & 0o077, about.nlink()), (0, 0));
    }
}
