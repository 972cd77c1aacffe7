//! Finds input files and cuts them into pieces of bounded size: runs of NDJSON lines, or whole JSON documents.
//!
//! The name and the beginning of the content decide whether a file is gzip, NDJSON or one JSON document. `document`
//! decides what a piece means. Nothing here parses JSON.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use super::super::error::{IngestError, Reason, Refusal};
use super::form::{has_lines, is_closed};
use super::pending::{LARGEST_DOCUMENT, Pending, Spare};
use crate::lake::scratch::{TextFile, TextReader};

/// The approximate size in bytes of a piece of NDJSON lines.
const PIECE: usize = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A part of an input file.
#[derive(Debug)]
pub struct Piece {
    /// The file of the piece.
    pub file: Arc<Path>,
    /// The number of the piece's first line, from 1.
    pub first_line: u64,
    /// The text of the piece.
    pub text: Text,
    /// How many bytes of the file on disk were read since the previous piece, for a progress bar.
    pub consumed: u64,
}

/// The text of a [`Piece`].
#[derive(Debug)]
pub enum Text {
    /// Lines, each a JSON document.
    Lines(Vec<u8>),
    /// One JSON document.
    Document(Vec<u8>),
}

impl Text {
    /// Returns the length of the text in bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self {
            Text::Lines(bytes) | Text::Document(bytes) => bytes.len(),
        }
    }
}

/// Returns the input files of `paths`. A path that is no folder is taken as it is, and may be refused when it is read.
/// Folders are searched recursively, in the order of names.
///
/// From a folder it takes only files that are not hidden and look like JSON by their name or their first bytes.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, IngestError> {
    let mut found = Vec::new();
    for path in paths {
        let unreadable = |error| IngestError::Input {
            path: path.clone(),
            error,
        };
        if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
            walk(path, &mut found).map_err(unreadable)?;
        } else {
            found.push(path.clone());
        }
    }
    Ok(found)
}

/// Returns the size on disk of the input files at `paths`, in bytes. Files of unknown size do not count. Returns 0 if a
/// path cannot be read.
pub fn input_size(paths: &[PathBuf]) -> u64 {
    let files = find(paths).unwrap_or_default();
    files
        .iter()
        .filter_map(|file| std::fs::metadata(file).ok())
        .map(|metadata| metadata.len())
        .sum()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // Hidden files belong to programs, such as editors and version control.
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        // A symbolic link to a folder may form a cycle, so only links to files are followed.
        if entry.file_type()?.is_dir() {
            walk(&path, found)?;
        } else if std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) && looks_like_json(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn looks_like_json(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if [".json", ".ndjson", ".jsonl"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
    {
        return true;
    }
    let mut start = Vec::new();
    // If a read error occurs, the bytes before it decide. The error occurs again when the file is read as input, and is
    // reported then.
    let _ = open(&path.to_owned().into()).and_then(|(reader, _)| reader.take(256).read_to_end(&mut start));
    let Some(object) = start_of_text(&start).strip_prefix(b"{") else {
        return false;
    };
    matches!(object.trim_ascii_start().first(), Some(b'"' | b'}'))
}

fn start_of_text(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii_start()
}

/// How many bytes of a file on disk were read so far.
type Position = Arc<std::sync::atomic::AtomicU64>;

struct Counted {
    file: TextReader,
    position: Position,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.position
            .fetch_add(read as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(read)
    }
}

/// Opens a file. Decompresses it if it begins with the magic number of gzip.
fn open(file: &TextFile) -> io::Result<(Box<dyn Read + Send>, Position)> {
    let position = Position::default();
    let mut file = Counted {
        file: file.open()?,
        position: Arc::clone(&position),
    };
    let mut magic = Vec::with_capacity(2);
    (&mut file).take(2).read_to_end(&mut magic)?;
    let gzip = magic == [0x1f, 0x8b];
    let whole = io::Cursor::new(magic).chain(file);
    if gzip {
        Ok((
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
            position,
        ))
    } else {
        Ok((Box::new(whole), position))
    }
}

/// Why [`Pieces`] returns no piece.
#[derive(Debug)]
pub enum Fault {
    /// A line or a file was left out. More pieces may follow.
    Refused(Refusal),
    /// A file cannot be read completely. The missing part is unknown, so no more pieces follow.
    Broken(IngestError),
}

/// Reads the pieces of a list of files, in order.
#[allow(missing_debug_implementations)]
pub struct Pieces {
    files: std::vec::IntoIter<TextFile>,
    current: Option<Reading>,
    spare: Spare,
}

struct Reading {
    file: Arc<Path>,
    reader: Box<dyn Read + Send>,
    position: Position,
    reported: u64,
    /// Text that was read and not returned yet.
    pending: Pending,
    line: u64,
    ended: bool,
    /// Whether the rest of the file is skipped.
    abandoned: bool,
}

enum Next {
    Piece(Text, u64),
    Refused(Reason, u64),
    End,
}

impl Pieces {
    /// Creates a reader of files, such as those from [`find`].
    pub fn new(files: impl IntoIterator<Item = impl Into<TextFile>>) -> Self {
        let files: Vec<TextFile> = files.into_iter().map(Into::into).collect();
        Self {
            files: files.into_iter(),
            current: None,
            spare: Spare::default(),
        }
    }

    /// Returns the memory pool of texts. With `Spare::give`, a caller may return the memory of a text to it.
    pub fn spare(&self) -> Spare {
        self.spare.clone()
    }

    fn advance(&mut self) -> Option<Result<Piece, Fault>> {
        loop {
            let Some(reading) = &mut self.current else {
                let file = self.files.next()?;
                match Reading::open(&file, self.spare.clone()) {
                    Ok(reading) => self.current = Some(reading),
                    Err(error) => {
                        let path = file.path().to_owned();
                        return Some(Err(self.broken(IngestError::Input { path, error })));
                    }
                }
                continue;
            };
            let next = match reading.advance() {
                Ok(next) => next,
                Err(error) => {
                    let path = reading.file.to_path_buf();
                    return Some(Err(self.broken(IngestError::Broken { path, error })));
                }
            };
            match next {
                Next::Piece(text, first_line) => {
                    let file = Arc::clone(&reading.file);
                    return Some(Ok(Piece {
                        file,
                        first_line,
                        text,
                        consumed: reading.consumed(),
                    }));
                }
                Next::Refused(reason, line) => {
                    let refusal = Refusal::of_file(Arc::clone(&reading.file), line, reason);
                    if reading.abandoned {
                        self.current = None;
                    }
                    return Some(Err(Fault::Refused(refusal)));
                }
                Next::End => self.current = None,
            }
        }
    }

    /// Drops all remaining files, and returns the fault that ends the pieces.
    fn broken(&mut self, error: IngestError) -> Fault {
        self.current = None;
        self.files = Vec::new().into_iter();
        Fault::Broken(error)
    }
}

impl Iterator for Pieces {
    type Item = Result<Piece, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance()
    }
}

impl Reading {
    fn open(file: &TextFile, spare: Spare) -> io::Result<Self> {
        let (reader, position) = open(file)?;
        Ok(Self {
            file: file.path().into(),
            reader,
            position,
            reported: 0,
            pending: Pending::new(spare),
            line: 0,
            ended: false,
            abandoned: false,
        })
    }

    fn consumed(&mut self) -> u64 {
        let position = self.position.load(std::sync::atomic::Ordering::Relaxed);
        let fresh = position - self.reported;
        self.reported = position;
        fresh
    }

    fn advance(&mut self) -> io::Result<Next> {
        if self.line == 0 { self.first() } else { self.lines() }
    }

    /// Reads until `pending` has `enough` bytes or the file ends. Returns whether the file ended.
    fn fill(&mut self, enough: usize) -> io::Result<bool> {
        if enough > self.pending.len() && !self.ended {
            self.ended = self.pending.fill(&mut self.reader, enough)?;
        }
        Ok(self.ended)
    }

    /// Returns the first piece of a file, and decides between NDJSON and a single document. A file is NDJSON if its
    /// name says so, or if its first line is one whole object and more text follows. If the first line is damaged,
    /// later lines decide.
    fn first(&mut self) -> io::Result<Next> {
        self.line = 1;
        self.fill(PIECE)?;
        if self.pending.text().starts_with(BYTE_ORDER_MARK) {
            self.pending.forget(BYTE_ORDER_MARK.len());
        }
        if self.is_lines_by_name() {
            return self.lines();
        }
        let blank = self.pending.len() - self.pending.text().trim_ascii_start().len();
        if self.pending.text().get(blank) != Some(&b'{') {
            if has_lines(self.pending.text(), self.ended) {
                return self.lines();
            }
            self.abandoned = true;
            return Ok(Next::Refused(Reason::NotAnObject, 1));
        }
        let mut searched = blank;
        loop {
            let pending = self.pending.text();
            if let Some(at) = memchr::memchr(b'\n', &pending[searched..]) {
                let first = &pending[blank..searched + at];
                if is_closed(first) && !(pending[searched + at..].trim_ascii().is_empty() && self.ended) {
                    return self.lines();
                }
                break;
            }
            searched = pending.len();
            if self.ended || searched > LARGEST_DOCUMENT {
                break;
            }
            self.fill(searched + 4 * PIECE)?;
        }
        self.document()
    }

    fn is_lines_by_name(&self) -> bool {
        let name = self
            .file
            .file_name()
            .map(|name| name.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        name.ends_with(".ndjson") || name.ends_with(".jsonl")
    }

    fn document(&mut self) -> io::Result<Next> {
        // The text that was read so far usually has enough lines to show that it is NDJSON. But one long line may fill
        // it. So if it does not look like NDJSON, read as much as a document may have, and decide again.
        if has_lines(self.pending.text(), self.ended) {
            return self.lines();
        }
        if !self.ended {
            self.fill(LARGEST_DOCUMENT + 1)?;
            if has_lines(self.pending.text(), self.ended) {
                return self.lines();
            }
        }
        if self.pending.len() > LARGEST_DOCUMENT {
            self.abandoned = true;
            return Ok(Next::Refused(Reason::TooLarge, 1));
        }
        Ok(Next::Piece(Text::Document(self.pending.split(self.pending.len())), 1))
    }

    fn lines(&mut self) -> io::Result<Next> {
        let mut wanted = PIECE;
        let end = loop {
            let searched = self.pending.len();
            if self.fill(wanted)? {
                break self.pending.len();
            }
            // Search all of the text in the first iteration. Later, search only the new part, because the part before
            // it has no newline.
            let from = if wanted == PIECE { 0 } else { searched };
            if let Some(at) = memchr::memrchr(b'\n', &self.pending.text()[from..]) {
                break from + at + 1;
            }
            if self.pending.len() > LARGEST_DOCUMENT {
                return self.skip_line();
            }
            wanted = self.pending.len() + 4 * PIECE;
        };
        if end == 0 {
            return Ok(Next::End);
        }
        let text = self.pending.split(end);
        let first_line = self.line;
        self.line += memchr::memchr_iter(b'\n', &text).count() as u64;
        Ok(Next::Piece(Text::Lines(text), first_line))
    }

    /// Skips the line at the beginning of `pending`, which is too large. The end of this line has not been read yet.
    fn skip_line(&mut self) -> io::Result<Next> {
        let refused = self.line;
        self.line += 1;
        loop {
            self.pending.forget(self.pending.len());
            let ended = self.fill(PIECE)?;
            if let Some(at) = memchr::memchr(b'\n', self.pending.text()) {
                self.pending.forget(at + 1);
                // Later calls return the rest of `pending`, even if the file has ended.
                return Ok(Next::Refused(Reason::TooLarge, refused));
            }
            if ended {
                self.pending.forget(self.pending.len());
                return Ok(Next::Refused(Reason::TooLarge, refused));
            }
        }
    }
}
