//! A folder that is held open. Each name is looked up in this folder itself, so no link can lead anywhere else, even if
//! somebody changes the folder meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fsync, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::opened::{explained, link, regular};

/// A folder of this program, held open.
#[derive(Debug)]
pub(crate) struct OwnFolder {
    fd: OwnedFd,
    path: PathBuf,
}

/// The kind of a folder's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a device or a socket.
    Other,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl OwnFolder {
    /// Opens a folder that the user has named. This path may be a link.
    pub(crate) fn open(path: &Path) -> Result<OwnFolder> {
        let fd = openat(CWD, path, FOLDER, Mode::empty())?;
        let path = path.to_owned();
        Ok(OwnFolder { fd, path })
    }

    /// Opens a folder in this one. Fails if it is a link.
    pub(crate) fn folder(&self, name: impl AsRef<OsStr>) -> Result<OwnFolder> {
        let name = plain(name.as_ref())?;
        let fd = openat(&self.fd, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| {
            match self.kind(name) {
                Ok(Some(Kind::Link)) => link(),
                _ => error.into(),
            }
        })?;
        let path = self.path.join(name);
        Ok(OwnFolder { fd, path })
    }

    /// Opens a folder in this one, and makes it first if it is missing. Fails if it is a link.
    pub(crate) fn folder_or_new(&self, name: impl AsRef<OsStr>) -> Result<OwnFolder> {
        let name = plain(name.as_ref())?;
        match mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a file in this folder to read it. Fails if it is a link, or no regular file.
    pub(crate) fn file(&self, name: impl AsRef<OsStr>) -> Result<File> {
        self.opened(name.as_ref(), OFlags::RDONLY)
    }

    /// Opens an existing file in this folder to write it. Fails if it is a link, or no regular file.
    pub(crate) fn file_to_write(&self, name: impl AsRef<OsStr>) -> Result<File> {
        self.opened(name.as_ref(), OFlags::WRONLY)
    }

    fn opened(&self, name: &OsStr, access: OFlags) -> Result<File> {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&self.fd, plain(name)?, flags, Mode::empty());
        fd.map_err(|error| explained(error.into()))
            .map(File::from)
            .and_then(regular)
    }

    /// Returns the kind of the entry with this name. `None` if there is none.
    pub(crate) fn kind(&self, name: impl AsRef<OsStr>) -> Result<Option<Kind>> {
        match statat(&self.fd, plain(name.as_ref())?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) => Ok(Some(kind_of(FileType::from_raw_mode(facts.st_mode)))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the names in this folder with their kinds, sorted by name.
    pub(crate) fn entries(&self) -> Result<Vec<(OsString, Kind)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            // Some file systems do not list the kinds of their entries.
            let kind = match entry.file_type() {
                FileType::Unknown => self.kind(name)?,
                known => Some(kind_of(known)),
            };
            entries.extend(kind.map(|kind| (name.to_owned(), kind)));
        }
        entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(entries)
    }

    /// Moves an entry of this folder into another one, and replaces a file there.
    pub(crate) fn rename(&self, name: impl AsRef<OsStr>, to: &OwnFolder, new: impl AsRef<OsStr>) -> Result<()> {
        Ok(renameat(&self.fd, plain(name.as_ref())?, &to.fd, plain(new.as_ref())?)?)
    }

    /// Removes a file of this folder. Fails if it is no regular file.
    pub(crate) fn remove(&self, name: impl AsRef<OsStr>) -> Result<()> {
        let name = plain(name.as_ref())?;
        match self.kind(name)? {
            Some(Kind::File) => Ok(unlinkat(&self.fd, name, AtFlags::empty())?),
            Some(_) => Err(Error::new(ErrorKind::InvalidInput, "it is no regular file, and stays")),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Removes an empty folder of this folder. Fails if it is a link.
    pub(crate) fn remove_folder(&self, name: impl AsRef<OsStr>) -> Result<()> {
        Ok(unlinkat(&self.fd, plain(name.as_ref())?, AtFlags::REMOVEDIR)?)
    }

    /// Removes an entry of this folder: a file, or a folder with all that is in it. Of a link, removes the link alone.
    pub(crate) fn remove_all(&self, name: impl AsRef<OsStr>) -> Result<()> {
        let name = plain(name.as_ref())?;
        if self.kind(name)? != Some(Kind::Folder) {
            return Ok(unlinkat(&self.fd, name, AtFlags::empty())?);
        }
        let folder = self.folder(name)?;
        for (name, _) in folder.entries()? {
            folder.remove_all(name)?;
        }
        self.remove_folder(name)
    }

    /// Makes the names in this folder durable.
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(fsync(&self.fd)?)
    }

    /// Returns the path of this folder, or of an entry in it, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

/// Returns the name, if it is one of an entry in a folder and not a path to somewhere else.
fn plain(name: &OsStr) -> Result<&OsStr> {
    let is_path = name.as_bytes().contains(&b'/');
    if is_path || name.is_empty() || name == "." || name == ".." {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "it is no name of a file in a folder",
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_leads_nowhere_else() {
        let (ours, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(others.path().join("below")).unwrap();
        std::fs::write(others.path().join("file"), "theirs").unwrap();
        symlink(others.path(), ours.path().join("link")).unwrap();
        symlink(others.path().join("file"), ours.path().join("file")).unwrap();
        std::fs::write(ours.path().join("own"), "ours").unwrap();
        let folder = OwnFolder::open(ours.path()).unwrap();
        assert!(folder.folder("link").unwrap_err().to_string().contains("is a link"));
        assert!(folder.folder_or_new("link").is_err());
        for name in ["file", "../own", "link/file", "..", "."] {
            assert!(folder.file(name).is_err(), "{name}");
            assert!(folder.remove(name).is_err(), "{name}");
        }
        let kinds: Vec<Kind> = folder.entries().unwrap().into_iter().map(|(_, kind)| kind).collect();
        assert_eq!(kinds, [Kind::Link, Kind::Link, Kind::File]);
        // The named folder itself may be a link.
        let linked = ours.path().join("named");
        symlink(ours.path(), &linked).unwrap();
        let linked = OwnFolder::open(&linked).unwrap();
        linked.folder_or_new("new").unwrap().sync().unwrap();
        linked.rename("own", &linked.folder("new").unwrap(), "moved").unwrap();
        linked.folder("new").unwrap().remove("moved").unwrap();
        assert!(others.path().join("file").is_file());
        // A folder is removed with the links in it, and nothing behind them.
        assert!(folder.file_to_write("file").is_err());
        assert!(folder.remove_folder("link").is_err());
        std::fs::create_dir_all(ours.path().join("new/deep")).unwrap();
        symlink(others.path(), ours.path().join("new/deep/link")).unwrap();
        folder.remove_all("new").unwrap();
        folder.remove_all("link").unwrap();
        assert!(!ours.path().join("new").exists() && !ours.path().join("link").exists());
        assert!(others.path().join("below").is_dir());
    }
}
