//! Why a publisher's file, or a table beside the lake, is refused.

use std::io;
use std::path::PathBuf;

/// Why a publisher's file, or a table beside the lake, is refused.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// The folder or a file in it cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No publisher's layout fits the file.
    #[error("{name}: not recognised; looked for {looked_for}")]
    Unrecognised {
        /// The file, or the file in an archive.
        name: String,
        /// The known layouts.
        looked_for: &'static str,
    },
    /// An archive is damaged or of an unsupported kind.
    #[error("{name}: the archive cannot be read: {reason}")]
    Archive {
        /// The archive.
        name: String,
        /// The fault.
        reason: String,
    },
    /// A line of a publisher's file does not have the layout of the others.
    #[error("{name}, line {line}: {expected} expected")]
    Line {
        /// The file, or the file in an archive.
        name: String,
        /// The line, from 1.
        line: u64,
        /// The expected content.
        expected: String,
    },
    /// A load would remove much of a table.
    #[error(
        "{table}: {lost} of the {before} {what} that are loaded are not in what is given, which has {after}; is a file cut off or \
         missing? With --replace it is taken all the same"
    )]
    Shrinks {
        /// The table.
        table: String,
        /// The counted things.
        what: &'static str,
        /// Their number before.
        before: u64,
        /// Their number after.
        after: u64,
        /// How many existing ones would be removed.
        lost: u64,
    },
    /// A file beside the lake has changed since it was written.
    #[error("{}: {reason}; load the {kind} again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
        /// The kind of tables in the folder.
        kind: &'static str,
    },
    /// A program with another layout wrote a file beside the lake.
    #[error("{}: has layout {found}, this program reads layout {known}", path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// The layout version of the file.
        found: u32,
        /// The layout version that this program reads.
        known: u32,
    },
    /// Another process is loading into the same folder.
    #[error("{}: another process is loading {kind}; try again when it has ended", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The kind of tables in the folder.
        kind: &'static str,
    },
}

impl PublishedError {
    /// Whether the input is wrong. Otherwise the machine or the stored data is.
    pub fn is_of_input(&self) -> bool {
        !matches!(
            self,
            PublishedError::Damaged { .. } | PublishedError::Layout { .. } | PublishedError::Busy { .. }
        )
    }
}
