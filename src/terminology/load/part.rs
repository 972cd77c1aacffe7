//! The files to load: those that were named, those in folders and those in ZIP archives.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::layout::{HEAD, LOOKED_FOR, Layout, recognise};
use crate::terminology::error::TerminologyError;
use crate::terminology::files::MAX_DEPTH;

/// A file of a known layout.
#[derive(Debug)]
pub(super) struct Part {
    /// Its path; in an archive `ARCHIVE: PATH`.
    pub(super) name: String,
    pub(super) layout: Layout,
    size: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    File(PathBuf),
    Zipped(PathBuf, usize),
}

/// The files of known layouts among what was named. A file that was named itself has to be one; folders and archives have to hold one.
/// Of several with one layout in one folder or archive one is taken.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Part>, TerminologyError> {
    let mut parts = Vec::new();
    for path in paths {
        let mut found = Vec::new();
        if path.is_dir() {
            let mut files = Vec::new();
            gather(path, MAX_DEPTH, &mut files)?;
            files.sort_unstable();
            for file in &files {
                file_parts(file, &mut found)?;
            }
        } else {
            file_parts(path, &mut found)?;
        }
        if found.is_empty() {
            return Err(TerminologyError::Unrecognised {
                name: path.display().to_string(),
                looked_for: LOOKED_FOR,
            });
        }
        parts.extend(chosen(found));
    }
    Ok(parts)
}

fn gather(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), TerminologyError> {
    let unreadable = |source| TerminologyError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        match path.is_dir() {
            _ if hidden => {}
            true if depth > 0 => gather(&path, depth - 1, files)?,
            true => {}
            false => files.push(path),
        }
    }
    Ok(())
}

fn file_parts(path: &Path, found: &mut Vec<Part>) -> Result<(), TerminologyError> {
    let unreadable = |source| TerminologyError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let head = head(&mut file).map_err(unreadable)?;
    if head.starts_with(b"PK\x03\x04") {
        return zipped_parts(path, found);
    }
    if let Some(layout) = recognise(&head, head.len() < HEAD) {
        found.push(Part {
            name: path.display().to_string(),
            layout,
            size,
            place: Place::File(path.to_owned()),
        });
    }
    Ok(())
}

fn zipped_parts(path: &Path, found: &mut Vec<Part>) -> Result<(), TerminologyError> {
    let mut archive = archive(path)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| broken(path, &error))?;
        if entry.is_dir() {
            continue;
        }
        let inside = entry.name().map_err(|error| broken(path, &error))?;
        let (name, size) = (format!("{}: {inside}", path.display()), entry.size());
        let head = head(&mut entry).map_err(|error| TerminologyError::Archive {
            name: name.clone(),
            reason: error.to_string(),
        })?;
        if let Some(layout) = recognise(&head, head.len() < HEAD) {
            let place = Place::Zipped(path.to_owned(), index);
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

fn head(reader: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn archive(path: &Path) -> Result<ZipArchive<BufReader<File>>, TerminologyError> {
    let file = File::open(path).map_err(|source| TerminologyError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    ZipArchive::new(BufReader::new(file)).map_err(|error| broken(path, &error))
}

fn broken(path: &Path, error: &ZipError) -> TerminologyError {
    TerminologyError::Archive {
        name: path.display().to_string(),
        reason: error.to_string(),
    }
}

/// Of each layout but FHIR's one file: a snapshot before a full history, inferred relations before stated ones, else the largest.
/// RxNorm's archive holds its prescribable subset too, LOINC's a short table, ICD-10-CM's an addendum.
fn chosen(found: Vec<Part>) -> Vec<Part> {
    let rank = |part: &Part| {
        let name = part.name.to_ascii_lowercase();
        (name.contains("snapshot"), !name.contains("stated"), part.size)
    };
    let mut chosen: Vec<Part> = Vec::new();
    for part in found {
        match chosen
            .iter_mut()
            .find(|other| other.layout == part.layout && !part.layout.is_fhir())
        {
            Some(other) if rank(&part) > rank(other) => *other = part,
            Some(_) => {}
            None => chosen.push(part),
        }
    }
    chosen
}

impl Part {
    /// Hands the file over from its beginning.
    pub(super) fn read<T>(
        &self,
        take: impl FnOnce(&mut dyn BufRead) -> Result<T, TerminologyError>,
    ) -> Result<T, TerminologyError> {
        const BUFFER: usize = 256 << 10;
        match &self.place {
            Place::File(path) => {
                let file = File::open(path).map_err(|source| TerminologyError::Unreadable {
                    path: path.clone(),
                    source,
                })?;
                take(&mut BufReader::with_capacity(BUFFER, file))
            }
            Place::Zipped(path, index) => {
                let mut archive = archive(path)?;
                let entry = archive.by_index(*index).map_err(|error| broken(path, &error))?;
                take(&mut BufReader::with_capacity(BUFFER, entry))
            }
        }
    }
}
