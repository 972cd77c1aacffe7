//! Why a publisher's file, or a table beside the lake, is not taken.

use std::io;
use std::path::PathBuf;

/// Why a publisher's file, or a table beside the lake, is not taken.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// The folder or a file in it cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
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
    /// A load would take much away from a table.
    #[error(
        "{table}: {lost} of the {before} {what} that are loaded are not in what is given, which has {after}; is a file cut off or \
         missing? With --replace it is taken all the same"
    )]
    Shrinks {
        /// The table.
        table: String,
        /// What is counted.
        what: &'static str,
        /// How many there are.
        before: u64,
        /// How many there would be.
        after: u64,
        /// How many existing ones would be removed.
        lost: u64,
    },
    /// A file beside the lake is not as it was written.
    #[error("{}: {reason}; load the {kind} again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
        /// What the folder keeps.
        kind: &'static str,
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
    /// Another process loads into the same folder.
    #[error("{}: another process is loading {kind}; try again when it has ended", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
        /// What the folder keeps.
        kind: &'static str,
    },
}

impl PublishedError {
    /// Whether the input is at fault, not the machine or what was stored before.
    pub fn is_of_input(&self) -> bool {
        !matches!(
            self,
            PublishedError::Damaged { .. } | PublishedError::Layout { .. } | PublishedError::Busy { .. }
        )
    }
}
