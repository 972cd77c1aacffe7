//! Runs views over files: one pass over the input for all views, with a report of refused input.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::args::Args;
use super::outputs::Outputs;
use super::pick::pick;
use super::targets::Target;
use crate::cli::terminal::columns::grouped;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::input::standard_input;
use crate::cli::terminal::progress::Progress;
use crate::ingest::{self, Fault, IngestError, Piece, Pieces, REFUSALS_KEPT, Reason, Refusal, Spare, Text};
use crate::views::{Document, Format, Refused, SharedRows};

/// Returns an iterator over the documents in the files, and a list to which the iterator adds refused input. Calls
/// `advance` with the number of bytes that each document took from its file.
pub(in crate::cli) fn documents<A: Fn(u64) + Send + 'static>(
    paths: &[PathBuf],
    advance: A,
) -> Result<(impl Iterator<Item = Input> + Send + use<A>, Arc<Refusals>), Failure> {
    let files = ingest::find(paths).map_err(|error| match error {
        IngestError::Input { .. } => Failure::input(error.to_string()),
        error => Failure::other(error),
    })?;
    let refused = Arc::new(Refusals::default());
    let of_documents = refused.clone();
    let mut pieces = Pieces::new(files);
    let (spare, room) = (pieces.spare(), Arc::new(Room::default()));
    let documents = std::iter::from_fn(move || {
        loop {
            room.wait();
            match pieces.next()? {
                Ok(piece) => {
                    advance(piece.consumed);
                    return Some(Input {
                        room: Room::taken(&room, piece.text.len()),
                        piece,
                        refused: of_documents.clone(),
                        spare: spare.clone(),
                    });
                }
                Err(Fault::Refused(refusal)) => of_documents.add(refusal),
                Err(Fault::Broken(error)) => of_documents.broken(error),
            }
        }
    });
    Ok((documents, refused))
}

/// Runs the views over the files, writes their rows and prints the refused resources.
pub(super) fn run(arguments: &Args, targets: &[Target], format: Format) -> Result<(), Failure> {
    let progress = Progress::new(arguments.shows_progress(), Some(ingest::input_size(&arguments.input)));
    let (documents, refused) = documents(&standard_input(&arguments.input), progress.advance())?;
    let views = targets.iter().map(|target| target.view.for_documents(format)).collect();
    let rows = SharedRows::of_documents(views, documents, pick(arguments), arguments.limit);
    let mut outputs = Outputs::new(targets, (0..targets.len()).collect(), arguments.table())?;
    let failures = outputs.write(rows.events(format), &progress, || refused.whole(), |_, error| error)?;
    progress.finish();
    if failures.is_empty() {
        refused.report(WRITTEN)
    } else {
        let _ = refused.report(WRITTEN);
        Failure::all(failures)
    }
}

/// A text with more bytes than this, 16 MiB, is large. While a large text is in memory, no further text is read, so
/// that memory holds few large texts.
const LARGE: usize = 16 << 20;

/// A counter of the large texts in memory.
#[derive(Default)]
struct Room {
    large: Mutex<usize>,
    freed: Condvar,
}

/// A guard that counts as one large text in memory until it is dropped.
struct Taken(Arc<Room>);

impl Room {
    /// Waits until no large text is in memory. This cannot deadlock: the thread that holds the large text does not wait
    /// for this thread.
    fn wait(&self) {
        let large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.freed.wait_while(large, |large| *large > 0));
    }

    fn taken(room: &Arc<Room>, bytes: usize) -> Option<Taken> {
        (bytes > LARGE).then(|| {
            *room.large.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            Taken(room.clone())
        })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        *self.0.large.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.freed.notify_all();
    }
}

/// The second half of the message about refused resources, for [`Refusals::report`]. It says what happened to the other
/// resources.
const WRITTEN: &str = "the others' rows are written";

/// A piece of an input file: one document, or several lines of NDJSON.
pub(in crate::cli) struct Input {
    piece: Piece,
    refused: Arc<Refusals>,
    spare: Spare,
    /// The guard of a large text. It is dropped after the text.
    room: Option<Taken>,
}

impl Drop for Input {
    fn drop(&mut self) {
        match &mut self.piece.text {
            Text::Lines(text) | Text::Document(text) => self.spare.give(std::mem::take(text)),
        }
        self.room = None;
    }
}

impl Input {
    /// Returns the path of the input file.
    pub(in crate::cli) fn file(&self) -> &Path {
        &self.piece.file
    }
}

impl Document for Input {
    fn text(&self) -> &[u8] {
        match &self.piece.text {
            Text::Lines(text) | Text::Document(text) => text,
        }
    }

    fn is_lines(&self) -> bool {
        matches!(self.piece.text, Text::Lines(_))
    }

    fn refuse(&self, offset: usize, reason: Refused) {
        let before = &self.text()[..offset.min(self.text().len())];
        let line = self.piece.first_line + memchr::memchr_iter(b'\n', before).count() as u64;
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let column = (before.len() - line_start) as u64 + 1;
        let reason = match reason {
            Refused::NotJson(error) => Reason::NotJson {
                reason: error.reason,
                column,
            },
            Refused::Shape(problem) => Reason::Shape(problem),
        };
        self.refused.add(Refusal {
            file: self.piece.file.clone(),
            line,
            entry: None,
            type_id: None,
            reason,
        });
    }
}

/// The refused input. `kept` has the first refusals, `count` is the number of all refusals, and `broken` is the error
/// that ended the input early.
#[derive(Default)]
pub(in crate::cli) struct Refusals {
    broken: Mutex<Option<IngestError>>,
    kept: Mutex<Vec<Refusal>>,
    count: AtomicU64,
}

impl Refusals {
    fn add(&self, refusal: Refusal) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < REFUSALS_KEPT {
            kept.push(refusal);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    fn broken(&self, error: IngestError) {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Fails if an error ended the input early. Removes the error, so a second call succeeds.
    pub(in crate::cli) fn whole(&self) -> Result<(), Failure> {
        match self.broken.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(error) => Err(Failure::input(error.to_string())),
        }
    }

    /// Prints the first refusals, and fails with exit code 3 if any resource was refused. `rest` is the second half of
    /// the message. It says what happened to the other resources.
    pub(in crate::cli) fn report(&self, rest: &str) -> Result<(), Failure> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        for refusal in kept.iter() {
            eprintln!("refused {refusal}");
        }
        match self.count.load(Ordering::Relaxed) {
            0 => Ok(()),
            1 => Err(Failure::partial(format!("1 resource was refused; {rest}"))),
            refused => Err(Failure::partial(format!(
                "{} resources were refused; {rest}",
                grouped(refused)
            ))),
        }
    }
}
