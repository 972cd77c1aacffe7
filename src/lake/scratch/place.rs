//! Creates temporary files, and defines what authenticates each of their pieces.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::private;

/// The number of clear bytes in a piece. A read of a few bytes decrypts one piece.
pub(super) const PIECE: usize = 16 << 10;

/// Creates a file that disappears with the process, however the process ends. Only its user may open it.
pub(super) fn unnamed(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("scratch-{}", uuid::Uuid::new_v4()));
    let file = private::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Two numbers in the form that authenticates a piece.
pub(super) fn named(one: u64, other: u64) -> [u8; 16] {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&one.to_le_bytes());
    place[8..].copy_from_slice(&other.to_le_bytes());
    place
}

/// The error for a piece that does not decrypt.
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
