//! The result of a check.

use std::fmt;
use std::path::PathBuf;

/// How much a check does with each data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Holds every byte against the file's checksums.
    Checksums,
    /// Decodes it as well, and holds each resource against its digest.
    Rows,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that the catalog names and that were looked at: data files, delete files and attachments of all snapshots.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The faults: those of the catalog first, then by path.
    pub findings: Vec<Finding>,
    /// Files of interrupted writers, moved aside to `data/.orphans/`. They are no part of the lake.
    pub moved_aside: u64,
    /// Whether the catalog's mark is there and nothing in it contradicts the catalog: files that the catalog does not
    /// name are then left by interrupted writers.
    pub is_as_marked: bool,
    /// Whether a writer was active during the check. Then files that the catalog does not name were not looked for: a
    /// writer may be writing them.
    pub being_written: bool,
}

impl Report {
    /// Whether the lake needs a new catalog, made from its data files.
    pub fn needs_catalog(&self) -> bool {
        self.findings.iter().any(|finding| match finding.problem {
            Problem::Catalog(_) | Problem::Missing => true,
            // An interrupted writer has left it. What was not committed is not to become a part of the lake.
            Problem::Unnamed => !self.is_as_marked,
            _ => false,
        })
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file it is wrong with.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: Problem,
}

/// The possible faults of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The catalog: a clause that says how.
    Catalog(String),
    /// The catalog's statistics of a table differ from its files: a clause that says how. The next writer corrects
    /// them.
    Statistics(String),
    /// The catalog names it, and it is not there.
    Missing,
    /// It has another size than the catalog records.
    Size {
        /// Bytes that are recorded.
        recorded: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// It cannot be read: a clause that says why.
    Unreadable(String),
    /// It is readable and differs from the catalog's record: a clause that says how.
    Contents(String),
    /// The catalog does not name it.
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
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn find(&mut self, path: PathBuf, problem: Problem) {
        self.findings.push(Finding { path, problem });
    }
}
