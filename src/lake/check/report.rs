//! The result of a check.

use std::fmt;
use std::path::PathBuf;

/// How thoroughly a check reads data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Compares every byte with the file's checksums.
    Checksums,
    /// Does the same as `Checksums`. Also decodes each row, and compares each resource with its digest.
    Rows,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of files that the catalog names and the check examined: data files, delete files and attachments of
    /// all snapshots.
    pub files: u64,
    /// The size of the examined files in bytes, as the catalog records it.
    pub bytes: u64,
    /// The faults: those of the catalog first, then those of files, by path.
    pub findings: Vec<Finding>,
    /// The number of files of interrupted writers in `data/.orphans/`. They do not belong to the lake.
    pub moved_aside: u64,
    /// The number of files in `data/` that an interrupted writer has left. The next writer moves them aside. They are
    /// no faults: the catalog agrees with its mark and names none of them, and their names are those of this program.
    pub leftovers: u64,
    /// Whether the catalog has a mark and agrees with it. Then a file that the catalog does not name was left by an
    /// interrupted writer.
    pub is_as_marked: bool,
    /// How far the newest snapshot is ahead of the clock, if it is more than a minute.
    pub ahead: Option<std::time::Duration>,
    /// Whether a writer was active during the check. The check then does not look for files that the catalog does not
    /// name, because the writer may be writing them.
    pub being_written: bool,
}

impl Report {
    /// Whether the lake needs a new catalog, made from its data files.
    pub fn needs_catalog(&self) -> bool {
        self.findings.iter().any(|finding| match finding.problem {
            Problem::Catalog(_) | Problem::Missing => true,
            // If the catalog agrees with its mark, an interrupted writer left this file. Its rows were not committed
            // and must not be adopted.
            Problem::Unnamed => !self.is_as_marked,
            _ => false,
        })
    }
}

/// A fault of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file with the fault.
    pub path: PathBuf,
    /// What is wrong with the file.
    pub problem: Problem,
}

/// The possible faults of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The catalog has a fault. The text says which.
    Catalog(String),
    /// The catalog's statistics of a table differ from those of its files. The text names the table. The next writer
    /// corrects them.
    Statistics(String),
    /// The file that the catalog names does not exist.
    Missing,
    /// The file has another size than the catalog records.
    Size {
        /// The recorded length of the file in bytes.
        recorded: u64,
        /// The actual length of the file in bytes.
        found: u64,
    },
    /// The file cannot be read. The text is the reason.
    Unreadable(String),
    /// The file is readable but differs from the catalog's record. The text says how.
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
