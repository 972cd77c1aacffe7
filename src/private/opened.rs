//! Opens files. Follows no link in the place of a file, and refuses pipes, devices and folders.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Options to open a file of this program. They open only regular files, and follow no link in the file's place.
#[derive(Clone, Debug)]
pub(crate) struct Options(OpenOptions);

/// Returns options to open a file. If the file is created, only the user of this process may read and write it.
pub(crate) fn options() -> Options {
    let mut options = OpenOptions::new();
    options
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    Options(options)
}

impl Options {
    pub(crate) fn read(&mut self, read: bool) -> &mut Options {
        self.0.read(read);
        self
    }

    pub(crate) fn write(&mut self, write: bool) -> &mut Options {
        self.0.write(write);
        self
    }

    pub(crate) fn append(&mut self, append: bool) -> &mut Options {
        self.0.append(append);
        self
    }

    pub(crate) fn create(&mut self, create: bool) -> &mut Options {
        self.0.create(create);
        self
    }

    pub(crate) fn create_new(&mut self, create_new: bool) -> &mut Options {
        self.0.create_new(create_new);
        self
    }

    /// Follows links. Only for a path that the user has named, and whose file may be kept in another place.
    pub(crate) fn through_links(&mut self) -> &mut Options {
        self.0.custom_flags(OFlags::NONBLOCK.bits() as i32);
        self
    }

    /// Opens the file. Fails if it is a link, or no regular file.
    pub(crate) fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        self.0.open(path).map_err(explained).and_then(regular)
    }
}

/// Opens a file to read it.
pub(crate) fn open(path: &Path) -> Result<File> {
    options().read(true).open(path)
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file as UTF-8.
pub(crate) fn read_to_string(path: &Path) -> Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a file that the user has named, to read it. This path may be a link.
pub(crate) fn named(path: &Path) -> Result<File> {
    options().through_links().read(true).open(path)
}

/// Makes an empty file to write it. Removes the name before, so nothing is written through a link in the way.
pub(crate) fn create(path: &Path) -> Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    options().read(true).write(true).create_new(true).open(path)
}

/// Fails if the path is a link, a pipe or anything else than a regular file. A missing file is no error. For files that
/// a library opens by their path.
pub(crate) fn refuse_foreign(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(facts) if facts.is_symlink() => Err(link()),
        Ok(facts) if facts.is_file() => Ok(()),
        Ok(_) => Err(no_file()),
    }
}

/// Returns the file, if it is a regular one.
pub(super) fn regular(file: File) -> Result<File> {
    let facts = file.metadata()?;
    if facts.is_file() {
        Ok(file)
    } else if facts.is_dir() {
        Err(ErrorKind::IsADirectory.into())
    } else {
        Err(no_file())
    }
}

/// Says what the system's error means for the file.
pub(super) fn explained(error: Error) -> Error {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP) => link(),
        // A pipe that nobody reads, or a socket.
        Some(Errno::NXIO) => no_file(),
        _ => error,
    }
}

/// Returns the error for a link in the place of a file or folder.
pub(crate) fn link() -> Error {
    Error::new(ErrorKind::InvalidInput, "it is a link, and no link is followed here")
}

fn no_file() -> Error {
    Error::new(ErrorKind::InvalidInput, "it is no regular file")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_link_a_pipe_and_a_device_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let [target, to_file, pipe, to_device] =
            ["target", "link", "pipe", "zero"].map(|name| folder.path().join(name));
        std::fs::write(&target, "stays").unwrap();
        symlink(&target, &to_file).unwrap();
        symlink("/dev/zero", &to_device).unwrap();
        mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
        for path in [&to_file, &pipe, &to_device] {
            assert!(read(path).is_err(), "{}", path.display());
            assert!(
                options().write(true).create(true).open(path).is_err(),
                "{}",
                path.display()
            );
            assert!(options().append(true).open(path).is_err(), "{}", path.display());
            assert!(refuse_foreign(path).is_err(), "{}", path.display());
        }
        assert!(named(&pipe).is_err());
        assert!(named(&to_device).is_err());
        assert!(named(&to_file).is_ok());
        assert_eq!(read(&to_file).unwrap_err().to_string(), link().to_string());
        assert_eq!(read(&target).unwrap(), b"stays");
        assert!(refuse_foreign(&target).is_ok());
        assert!(refuse_foreign(&folder.path().join("none")).is_ok());
    }

    #[test]
    fn a_new_file_is_not_written_through_a_link() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let [target, path, hard] = ["target", "new", "hard"].map(|name| folder.path().join(name));
        std::fs::write(&target, "stays").unwrap();
        symlink(&target, &path).unwrap();
        std::fs::hard_link(&target, &hard).unwrap();
        for path in [&path, &hard] {
            create(path).unwrap().write_all(b"new").unwrap();
            assert_eq!(read(path).unwrap(), b"new");
        }
        assert_eq!(read(&target).unwrap(), b"stays");
    }
}
