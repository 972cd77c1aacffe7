//! Finds the files to load: given files, files in folders, files in ZIP archives, and files in ZIP archives inside ZIP
//! archives.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempPath;
use zip::ZipArchive;
use zip::result::ZipError;

use super::error::PublishedError;
use crate::private;

/// The number of bytes at the beginning of a file by which its layout is recognized.
const HEAD: usize = 64 << 10;
/// The maximum depth of nested folders. Deeper folders are skipped.
pub(crate) const MAX_DEPTH: usize = 16;
/// The maximum size in bytes of an archive inside an archive.
const MAX_INNER: u64 = 1 << 30;

/// Recognizes a layout by the first bytes of a file. The second argument says whether these bytes are the whole file.
pub(crate) type Recognise<L> = fn(&[u8], bool) -> Option<L>;

/// A file of a known layout.
#[derive(Debug)]
pub(crate) struct Part<L> {
    /// The path of the file. In an archive: `ARCHIVE: PATH`.
    pub(crate) name: String,
    pub(crate) layout: L,
    pub(crate) size: u64,
    place: Location,
}

#[derive(Debug)]
enum Location {
    File(PathBuf),
    Zipped(Arc<Archive>, usize),
}

/// A ZIP archive. If it is inside another archive, it was extracted into a temporary file.
#[derive(Debug)]
struct Archive {
    name: String,
    path: PathBuf,
    _temporary: Option<TempPath>,
}

/// Returns a list for each path: the files of known layouts. Fails if a path is a file of another layout, or a folder
/// or archive without any file of a known layout.
pub(crate) fn find<L>(
    paths: &[PathBuf],
    recognise: Recognise<L>,
    looked_for: &'static str,
) -> Result<Vec<Vec<Part<L>>>, PublishedError> {
    let mut parts = Vec::new();
    for path in paths {
        let mut found = Vec::new();
        if path.is_dir() {
            let mut files = Vec::new();
            gather(path, MAX_DEPTH, &mut files)?;
            files.sort_unstable();
            for file in &files {
                file_parts(file, recognise, &mut found)?;
            }
        } else {
            file_parts(path, recognise, &mut found)?;
        }
        if found.is_empty() {
            return Err(PublishedError::Unrecognised {
                name: path.display().to_string(),
                looked_for,
            });
        }
        parts.push(found);
    }
    Ok(parts)
}

fn gather(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), PublishedError> {
    let unreadable = |source| PublishedError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden {
            if !path.is_dir() {
                files.push(path);
            } else if depth > 0 {
                gather(&path, depth - 1, files)?;
            }
        }
    }
    Ok(())
}

fn file_parts<L>(path: &Path, recognise: Recognise<L>, found: &mut Vec<Part<L>>) -> Result<(), PublishedError> {
    let unreadable = |source| PublishedError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut file = private::named(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let head = head(&mut file).map_err(unreadable)?;
    if head.starts_with(b"PK\x03\x04") {
        let archive = Archive {
            name: path.display().to_string(),
            path: path.to_owned(),
            _temporary: None,
        };
        return zipped_parts(&Arc::new(archive), true, recognise, found);
    }
    if let Some(layout) = recognise(&head, head.len() < HEAD) {
        found.push(Part {
            name: path.display().to_string(),
            layout,
            size,
            place: Location::File(path.to_owned()),
        });
    }
    Ok(())
}

fn zipped_parts<L>(
    archive: &Arc<Archive>,
    outermost: bool,
    recognise: Recognise<L>,
    found: &mut Vec<Part<L>>,
) -> Result<(), PublishedError> {
    let mut entries = archive.open()?;
    for index in 0..entries.len() {
        let mut entry = entries.by_index(index).map_err(|error| archive.broken(&error))?;
        if entry.is_dir() {
            continue;
        }
        let inside = entry.name().map_err(|error| archive.broken(&error))?;
        let (name, size) = (format!("{}: {inside}", archive.name), entry.size());
        if outermost && name.to_ascii_lowercase().ends_with(".zip") {
            let inner = extract(&mut entry, name)?;
            zipped_parts(&Arc::new(inner), false, recognise, found)?;
            continue;
        }
        let head = head(&mut entry).map_err(|error| PublishedError::Archive {
            name: name.clone(),
            reason: error.to_string(),
        })?;
        if let Some(layout) = recognise(&head, head.len() < HEAD) {
            let place = Location::Zipped(archive.clone(), index);
            found.push(Part {
                name,
                layout,
                size,
                place,
            });
        }
    }
    Ok(())
}

/// Extracts an archive inside an archive into a temporary file. The file is deleted when no part refers to it any
/// more.
fn extract(entry: &mut dyn Read, name: String) -> Result<Archive, PublishedError> {
    let mut extract = || -> io::Result<TempPath> {
        let mut file = tempfile::NamedTempFile::new()?;
        let bytes = io::copy(&mut entry.take(MAX_INNER + 1), &mut file)?;
        if bytes > MAX_INNER {
            Err(io::Error::other(format!("it has more than {MAX_INNER} bytes")))
        } else {
            Ok(file.into_temp_path())
        }
    };
    match extract() {
        Ok(temporary) => Ok(Archive {
            name,
            path: temporary.to_path_buf(),
            _temporary: Some(temporary),
        }),
        Err(error) => Err(PublishedError::Archive {
            name,
            reason: error.to_string(),
        }),
    }
}

fn head(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

impl Archive {
    fn open(&self) -> Result<ZipArchive<BufReader<File>>, PublishedError> {
        let file = private::named(&self.path).map_err(|source| PublishedError::Unreadable {
            path: self.path.clone(),
            source,
        })?;
        ZipArchive::new(BufReader::new(file)).map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &ZipError) -> PublishedError {
        PublishedError::Archive {
            name: self.name.clone(),
            reason: error.to_string(),
        }
    }
}

impl<L> Part<L> {
    /// Opens the file and calls `take` with a reader at its beginning.
    pub(crate) fn read<T, E: From<PublishedError>>(
        &self,
        take: impl FnOnce(&mut dyn BufRead) -> Result<T, E>,
    ) -> Result<T, E> {
        const BUFFER: usize = 256 << 10;
        match &self.place {
            Location::File(path) => {
                let file = private::named(path).map_err(|source| PublishedError::Unreadable {
                    path: path.clone(),
                    source,
                })?;
                take(&mut BufReader::with_capacity(BUFFER, file))
            }
            Location::Zipped(archive, index) => {
                let mut entries = archive.open()?;
                let entry = entries.by_index(*index).map_err(|error| archive.broken(&error))?;
                take(&mut BufReader::with_capacity(BUFFER, entry))
            }
        }
    }
}
