//! Why a publisher's file, or a table beside the lake, is refused.

use std::io;
use std::path::PathBuf;

/// Why a publisher's file, or a table beside the lake, is refused.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// A given file or folder cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file beside the lake cannot be read or written, for example because the disk is full.
    #[error("{}: {source}", path.display())]
    Stored {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is none of the publications that are looked for, or a folder or an archive contains none of them.
    #[error("{name}: not recognised; looked for {looked_for}")]
    Unrecognised {
        /// The path of the file, folder or archive that was given.
        name: String,
        /// The publications that are looked for.
        looked_for: &'static str,
    },
    /// A ZIP archive is damaged or of an unsupported kind.
    #[error("{name}: the archive cannot be read: {reason}")]
    Archive {
        /// The path of the archive, or of the file in it.
        name: String,
        /// What is wrong with the archive.
        reason: String,
    },
    /// A line of a publisher's file does not have the layout of the file.
    #[error("{name}, line {line}: {expected} expected")]
    Line {
        /// The path of the file, or of the file in an archive.
        name: String,
        /// The number of the line, starting at 1.
        line: u64,
        /// What was expected in this line.
        expected: String,
    },
    /// A load would remove more than a tenth of a table.
    #[error(
        "{table}: {lost} of the {before} {what} that are loaded are not in what is given, which has {after}; is a file cut off or \
         missing? With --replace it is taken all the same"
    )]
    Shrinks {
        /// The name of the table.
        table: String,
        /// The name of the entries that are counted, such as `plans`.
        what: &'static str,
        /// The number of entries in the stored table.
        before: u64,
        /// The number of entries in the new table.
        after: u64,
        /// The number of entries of the stored table that the new table lacks.
        lost: u64,
    },
    /// A file beside the lake is not as it was written.
    #[error("{}: {reason}; load the {kind} again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        reason: String,
        /// The kind of tables in the folder, such as `plans`.
        kind: &'static str,
    },
    /// A file beside the lake has a layout of another version of this program.
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
        /// The kind of tables in the folder, such as `plans`.
        kind: &'static str,
    },
}

impl PublishedError {
    /// Whether the given files are the cause. False for stored tables that cannot be read or written, are damaged or
    /// of another layout, and for a load by another process.
    pub fn is_of_input(&self) -> bool {
        !matches!(
            self,
            PublishedError::Stored { .. }
                | PublishedError::Damaged { .. }
                | PublishedError::Layout { .. }
                | PublishedError::Busy { .. }
        )
    }
}
