//! The result of a check.

use std::fmt;
use std::path::PathBuf;

/// How much a check does with each data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Compares every byte with the file's checksums.
    Checksums,
    /// Also decodes each row, and compares each resource with its digest.
    Rows,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that the catalog names and the check examined: data files, delete files and attachments of all snapshots.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The faults: those of the catalog first, then by path.
    pub findings: Vec<Finding>,
    /// Files of interrupted writers that were moved to `data/.orphans/`. They do not belong to the lake.
    pub moved_aside: u64,
    /// Whether the catalog has a mark and agrees with it. Then files that the catalog does not name were left by
    /// interrupted writers.
    pub is_as_marked: bool,
    /// Whether a writer was active during the check. The check then does not look for unnamed files, because a writer
    /// may be writing them.
    pub being_written: bool,
}

impl Report {
    /// Whether the lake needs a new catalog, made from its data files.
    pub fn needs_catalog(&self) -> bool {
        self.findings.iter().any(|finding| match finding.problem {
            Problem::Catalog(_) | Problem::Missing => true,
            // An interrupted writer left this file. Its rows were not committed and must not be adopted.
            Problem::Unnamed => !self.is_as_marked,
            _ => false,
        })
    }
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file with the fault.
    pub path: PathBuf,
    /// The kind of fault.
    pub problem: Problem,
}

/// The possible faults of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A fault of the catalog, as a clause.
    Catalog(String),
    /// The catalog's statistics of a table differ from its files, as a clause. The next writer corrects them.
    Statistics(String),
    /// The file that the catalog names does not exist.
    Missing,
    /// It has another size than the catalog records.
    Size {
        /// Its recorded length in bytes.
        recorded: u64,
        /// Its actual length in bytes.
        found: u64,
    },
    /// The file cannot be read, with the reason as a clause.
    Unreadable(String),
    /// The file is readable but differs from the catalog's record, with the difference as a clause.
    Contents(String),
    /// The catalog does not name the file.
    Unnamed,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Catalog(what) | Problem::Statistics(what) => f.write_str(what),
            Problem::Missing => f.write_str("is missing"),
            Problem::Size { recorded, found } => write!(f, "has {found} bytes, {recorded} are recorded"),
            Problem::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Problem::Contents(what) => f.write_str(what),
            Problem::Unnamed => f.write_str("is not named by the catalog"),
        }
    }
}

impl Report {
    /// Whether the check found no fault.
    pub fn is_good(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn find(&mut self, path: PathBuf, problem: Problem) {
        self.findings.push(Finding { path, problem });
    }
}
