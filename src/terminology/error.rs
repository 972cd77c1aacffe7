//! Why terminology is not taken.

use std::io;
use std::path::PathBuf;

/// Why terminology is not taken.
#[derive(Debug, thiserror::Error)]
pub enum TerminologyError {
    /// The folder or a file in it cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not JSON, or a resource does not have the shape of a CodeSystem or ValueSet.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// There is neither a CodeSystem nor a ValueSet.
    #[error("{}: holds neither a CodeSystem nor a ValueSet with a url", path.display())]
    Empty {
        /// The folder or file.
        path: PathBuf,
    },
    /// A publisher's file without a code: it takes no table's place.
    #[error("{name}: holds no codes; is it cut off?")]
    NoCodes {
        /// The file.
        name: String,
    },
    /// A code system has more text than is held.
    #[error("{system}: has more than 4 GiB of codes or displays")]
    TooLarge {
        /// Its URL.
        system: String,
    },
    /// No publisher's layout fits the file.
    #[error("{name}: not recognised; looked for {looked_for}")]
    Unrecognised {
        /// The file, or the file in an archive.
        name: String,
        /// The layouts that are known.
        looked_for: &'static str,
    },
    /// An archive is damaged, or of a kind that is not read.
    #[error("{name}: the archive cannot be read: {reason}")]
    Archive {
        /// The archive.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A line of a publisher's file does not have the layout of the others.
    #[error("{name}, line {line}: {expected} expected")]
    Line {
        /// The file, or the file in an archive.
        name: String,
        /// The line, from 1.
        line: u64,
        /// What was expected there.
        expected: String,
    },
    /// Two files of one command hold the same.
    #[error("{one} and {other} both hold {what}; load one of them")]
    Twice {
        /// A file.
        one: String,
        /// The other file.
        other: String,
        /// What they hold.
        what: &'static str,
    },
    /// A file is of use only together with another.
    #[error("{name}: {what} needs {missing}; give both in one command")]
    Alone {
        /// The file.
        name: String,
        /// What it holds.
        what: &'static str,
        /// What is missing.
        missing: &'static str,
    },
    /// One version was given for several code systems.
    #[error("a version can be given for one publisher's code system only; the files hold {0}")]
    SeveralVersions(usize),
    /// A file beside the lake is not as it was written.
    #[error("{}: {reason}; load the terminology again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file beside the lake was written by a program with another layout.
    #[error("{}: has layout {found}, this program reads layout {known}", path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// The layout it has.
        found: u32,
        /// The layout that is read.
        known: u32,
    },
    /// Another process loads terminology into the same folder.
    #[error("{}: another process is loading terminology; try again when it has ended", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
}

impl TerminologyError {
    /// Whether the input is at fault, not the machine or what was stored before.
    pub fn is_of_input(&self) -> bool {
        !matches!(
            self,
            TerminologyError::Damaged { .. } | TerminologyError::Layout { .. } | TerminologyError::Busy { .. }
        )
    }
}
