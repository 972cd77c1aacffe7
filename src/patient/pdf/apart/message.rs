//! What the two processes say to each other. Frames with the tag [`MESSAGE`] are JSON, those with [`BYTES`] are bytes:
//! the texts of the records, a document, or a piece of the file.

use serde::{Deserialize, Serialize};

use crate::patient::pdf::FetchError;

/// The tag of messages.
pub(super) const MESSAGE: u8 = 1;
/// The tag of bytes.
pub(super) const BYTES: u8 = 2;
/// The maximum bytes of a piece of the file in one frame.
pub(super) const PIECE: usize = 256 << 10;
/// The maximum bytes of an address at which the process asks for a document.
pub(super) const MAX_ADDRESS: usize = 64 << 10;
/// The maximum bytes of a message from the process that reads attachments. It may have an address, in which JSON makes
/// up to six bytes of one.
pub(super) const MAX_MESSAGE: u64 = 1 << 20;

/// What the process should do. A frame with the texts of all rows follows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) mode: Mode,
    /// The time of the file, in microseconds since 1970.
    pub(super) moment: i64,
    pub(super) author: String,
    /// Whether embedded files are compressed.
    pub(super) is_packed: bool,
    /// The base URL of the service's own references.
    pub(super) base: String,
    pub(super) parts: Vec<TaskPart>,
}

/// What the process makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    /// One PDF document.
    Document,
    /// A ZIP archive with a document for each part.
    Archive,
    /// Nothing: it reads each attachment from this number on, to find those that end it.
    Trial { from: usize },
}

/// A source and its records.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TaskPart {
    pub(super) label: String,
    pub(super) name: String,
    pub(super) kind: TaskKind,
    pub(super) missing: Vec<String>,
    /// The records by type. `None` if they could not be obtained.
    pub(super) groups: Option<Vec<Group>>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum TaskKind {
    Connected,
    SelfAttested,
    Facility,
}

/// Resources of one type.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Group {
    pub(super) type_name: String,
    pub(super) is_referred: bool,
    /// The id of each resource and the length of its text.
    pub(super) rows: Vec<(String, usize)>,
}

/// What the process that reads attachments says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// It is confined and waits for its task. It has taken `size` bytes of address space so far.
    Ready { size: u64 },
    /// It could not be confined, because of this error of the system. Zero stands for other errors.
    Unconfined(i32),
    /// It needs the document at an address. It waits for an answer.
    Want { part: usize, url: String, room: u64 },
    /// It would now read the attachment with this number. It waits for an answer.
    Begin(usize),
    /// It would now embed the attachment with this number, whose contents are not shown. It waits for an answer.
    Keep(usize),
    /// It has read the attachment.
    End(usize),
    /// All content is there, and it now writes the file.
    Finishing,
    /// It has written the file. An archive has several.
    Finished,
    /// The next bytes of the file belong at this place.
    At(u64),
    /// The work is done. The parts with these numbers have losses.
    Done { failed: Vec<usize> },
    /// The file could not be made.
    Failed,
}

/// The answers to [`Said::Want`], [`Said::Begin`] and [`Said::Keep`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The document follows as bytes.
    Here { content_type: Option<String> },
    /// There is no document.
    Lacking(FetchError),
    /// The attachment may be read or embedded.
    Read,
    /// The attachment becomes a placeholder.
    Skip {
        /// Why it is not read.
        reason: String,
        /// Whether its bytes are embedded in the file.
        is_kept: bool,
    },
}
