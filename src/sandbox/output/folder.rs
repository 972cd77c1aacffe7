//! Writes a population as NDJSON, one file per resource type. The people are written one after the other. Only one
//! person's resources and one buffer per file are in memory at a time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::super::people::population::Population;
use super::records::Records;

/// The reason why a population could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder is not empty.
    #[error("the folder {} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// The path is a file and not a folder.
    #[error("{} is no folder", .0.display())]
    NotAFolder(PathBuf),
    /// The file system returned an error.
    #[error("cannot write {}: {reason}", path.display())]
    Io {
        /// The path of the failed operation.
        path: PathBuf,
        /// The error.
        #[source]
        reason: std::io::Error,
    },
}

/// The number of written resources of each type.
pub type Written = BTreeMap<&'static str, u64>;

/// Writes the population into `folder`, and calls `progress` after each person. The folder must be absent or empty.
pub fn write_ndjson(
    population: &Population,
    folder: &Path,
    mut progress: impl FnMut(),
) -> Result<Written, FolderError> {
    let failed = |reason| FolderError::Io {
        path: folder.to_owned(),
        reason,
    };
    if folder.exists() && !folder.is_dir() {
        return Err(FolderError::NotAFolder(folder.to_owned()));
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    if std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(FolderError::NotEmpty(folder.to_owned()));
    }
    let mut files = Files {
        folder,
        open: BTreeMap::new(),
    };
    for records in population.directory() {
        files.write(&records)?;
    }
    for records in population.people() {
        files.write(&records)?;
        progress();
    }
    files.finish()
}

struct Files<'f> {
    folder: &'f Path,
    open: BTreeMap<&'static str, (BufWriter<File>, u64)>,
}

impl Files<'_> {
    fn write(&mut self, records: &Records) -> Result<(), FolderError> {
        for record in records.iter() {
            let resource_type = record.resource_type;
            let path = || self.folder.join(format!("{resource_type}.ndjson"));
            if !self.open.contains_key(resource_type) {
                let file = File::create(path()).map_err(|reason| FolderError::Io { path: path(), reason })?;
                self.open
                    .insert(resource_type, (BufWriter::with_capacity(1 << 16, file), 0));
            }
            if let Some((file, count)) = self.open.get_mut(resource_type) {
                let line = file
                    .write_all(record.json.as_bytes())
                    .and_then(|()| file.write_all(b"\n"));
                line.map_err(|reason| FolderError::Io {
                    path: self.folder.join(format!("{resource_type}.ndjson")),
                    reason,
                })?;
                *count += 1;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Written, FolderError> {
        let mut written = Written::new();
        for (resource_type, (mut file, count)) in self.open {
            file.flush().map_err(|reason| FolderError::Io {
                path: self.folder.join(format!("{resource_type}.ndjson")),
                reason,
            })?;
            written.insert(resource_type, count);
        }
        Ok(written)
    }
}
