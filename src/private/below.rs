//! The path of a file below a folder that the user has named.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Component, Path, PathBuf};

use super::own_folder::OwnFolder;

/// The path of a file below a folder. The folder may be a link, because the user has named it. Nothing below it is a
/// link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Below<'p> {
    root: &'p Path,
    path: &'p Path,
}

impl<'p> Below<'p> {
    /// Returns the file at `path` below `root`.
    pub(crate) fn new(root: &'p Path, path: &'p (impl AsRef<Path> + ?Sized)) -> Below<'p> {
        let path = path.as_ref();
        Below { root, path }
    }

    /// Returns the whole path.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(self.path)
    }

    /// Opens the file to read it. Fails if it is no regular file, and if it or a folder on the way to it is a link.
    pub(crate) fn open(&self) -> Result<File> {
        let name = self.path.file_name().ok_or(ErrorKind::InvalidInput)?;
        self.folder()?.file(name)
    }

    /// Reads the file.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut self.open()?, &mut bytes)?;
        Ok(bytes)
    }

    /// Opens the folder that has the file.
    pub(crate) fn folder(&self) -> Result<OwnFolder> {
        let mut folder = OwnFolder::open(self.root)?;
        let parent = self.path.parent().unwrap_or(Path::new(""));
        for part in parent.components() {
            let Component::Normal(name) = part else {
                return Err(ErrorKind::InvalidInput.into());
            };
            let next = folder.folder(name);
            folder = next.map_err(|error| match error.kind() {
                ErrorKind::NotFound => error,
                kind => Error::new(kind, format!("{}: {error}", folder.path().join(name).display())),
            })?;
        }
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_folder_on_the_way_is_a_link() {
        let (ours, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(ours.path().join("a/b")).unwrap();
        std::fs::write(ours.path().join("a/b/file"), "ours").unwrap();
        std::fs::write(others.path().join("file"), "theirs").unwrap();
        symlink(others.path(), ours.path().join("a/link")).unwrap();
        assert_eq!(Below::new(ours.path(), "a/b/file").read().unwrap(), b"ours");
        let refused = Below::new(ours.path(), "a/link/file").read().unwrap_err().to_string();
        assert!(refused.contains("a/link: it is a link"), "{refused}");
        for path in ["../file", "/etc/passwd", "", "a/../a/b/file"] {
            assert!(Below::new(ours.path(), path).open().is_err(), "{path}");
        }
        let missing = Below::new(ours.path(), "none/file").open().unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}
