//! Writes the rows of a view: takes batches in order, cuts them at a limit, and writes them in a format, piece by
//! piece. The threads that run plans convert several batches at once.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::super::error::RunError;
use super::super::naming::Naming;
use super::super::view::View;
use super::assembly::{Assembly, Computed, Tail};
use super::{Format, SpoolRoom, TextFormat};
use crate::parallel::processors;
use crate::plan::{Waiting, apart};

/// If the limit of rows is at most this number, the consumer's own thread converts the rows. Other threads would
/// convert rows that the consumer may never read.
const FEW_ROWS: usize = 10_000;

/// A stream of results, in order. The computation begins when the first one is read.
pub(in crate::views) type Batches<T> = BoxStream<'static, Result<T, RunError>>;

/// Applies `work` to each result and keeps the order. Works on several results at once, unless `few` is set.
pub(in crate::views) fn worked<T, U, W>(batches: Batches<T>, few: bool, work: W) -> Batches<U>
where
    T: Send + 'static,
    U: Send + 'static,
    W: Fn(T) -> Result<U, RunError> + Clone + Send + 'static,
{
    if few {
        return batches.map(move |batch| work(batch?)).boxed();
    }
    let worked = batches.map(move |batch| {
        let work = work.clone();
        async move {
            let batch = batch?;
            apart(move || work(batch)).await?
        }
    });
    worked.buffered(processors()).boxed()
}

/// Whether the limit is so small that the consumer's own thread converts the rows.
pub(in crate::views) fn is_few(limit: Option<usize>) -> bool {
    limit.is_some_and(|limit| limit <= FEW_ROWS)
}

/// The rows of a view. They are computed when they are read.
pub struct Rows {
    view: Arc<View>,
    batches: Batches<RecordBatch>,
    limit: Option<usize>,
    observer: Option<Arc<dyn Fn(usize) + Send + Sync>>,
    room: Option<Arc<SpoolRoom>>,
    naming: Option<Naming>,
}

/// A view's output as pieces of bytes.
pub struct Pieces {
    pieces: Box<dyn Iterator<Item = Result<Vec<u8>, RunError>> + Send>,
}

impl Rows {
    pub(in crate::views) fn new(view: Arc<View>, batches: Batches<RecordBatch>, limit: Option<usize>) -> Rows {
        Rows {
            view,
            batches,
            limit,
            observer: None,
            room: None,
            naming: None,
        }
    }

    /// Finds the resources that cause errors with `naming`.
    pub(in crate::views) fn named_by(self, naming: Naming) -> Rows {
        Rows {
            naming: Some(naming),
            ..self
        }
    }

    /// Calls `observer` with the number of rows of each batch, when the batch is read.
    pub fn observed(self, observer: Arc<dyn Fn(usize) + Send + Sync>) -> Rows {
        Rows {
            observer: Some(observer),
            ..self
        }
    }

    /// Limits the bytes of rows that wait for their Parquet types.
    pub fn within(self, room: Arc<SpoolRoom>) -> Rows {
        Rows {
            room: Some(room),
            ..self
        }
    }

    /// Returns the rows as batches of Arrow columns.
    pub fn batches(self) -> impl Iterator<Item = Result<RecordBatch, RunError>> + Send {
        let observer = self.observer;
        let mut left = self.limit.unwrap_or(usize::MAX);
        let mut batches = Waiting::new(self.batches);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            Some(batches.next()?.map(|batch| {
                let batch = batch.slice(0, batch.num_rows().min(left));
                left -= batch.num_rows();
                if let Some(observer) = &observer {
                    observer(batch.num_rows());
                }
                batch
            }))
        })
    }

    /// Returns the output in a format, in pieces as they become ready. Together the pieces are the output, unless one
    /// is an error.
    pub fn pieces(self, format: Format) -> Pieces {
        let (view, form) = (self.view.clone(), TextFormat::of(format));
        let here = is_few(self.limit) || form.is_none();
        let computed = worked(self.batches, here, move |batch| Computed::new(&view, form, batch));
        let (observer, naming) = (self.observer, self.naming);
        let named = move |error| match &naming {
            Some(naming) => futures::executor::block_on(naming.named(error)),
            None => error,
        };
        let mut computed = Waiting::new(computed);
        let (head, mut assembly) = match Assembly::new(self.view, format, self.limit, 1, self.room) {
            Ok(assembly) => (assembly.head(), Some(assembly)),
            Err(error) => (Err(error), None),
        };
        let mut tail: Option<Tail> = None;
        let body = std::iter::from_fn(move || {
            if let Some(tail) = &mut tail {
                return tail.next();
            }
            let open = assembly.as_mut()?;
            let next = if open.wants_rows() { computed.next() } else { None };
            let Some(next) = next else {
                return match assembly.take()?.finish() {
                    Ok(begun) => tail.insert(begun).next(),
                    Err(error) => Some(Err(error)),
                };
            };
            let piece = next.and_then(|computed| open.add(computed).map_err(&named));
            Some(piece.map(|piece| {
                if let Some(observer) = &observer {
                    observer(piece.rows);
                }
                piece.bytes
            }))
        });
        Pieces {
            pieces: Box::new(std::iter::once(head).chain(body)),
        }
    }

    /// Writes the output to `sink`.
    pub fn write(self, format: Format, sink: &mut dyn Write) -> Result<(), RunError> {
        for piece in self.pieces(format) {
            sink.write_all(&piece?)?;
        }
        Ok(sink.flush()?)
    }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("view", &self.view.name())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Iterator for Pieces {
    type Item = Result<Vec<u8>, RunError>;

    /// Returns the next piece that is not empty. After an error, returns `None`.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let piece = self.pieces.next()?;
            match piece {
                Ok(piece) if piece.is_empty() => continue,
                Ok(piece) => return Some(Ok(piece)),
                Err(error) => {
                    self.pieces = Box::new(std::iter::empty());
                    return Some(Err(error));
                }
            }
        }
    }
}

impl std::fmt::Debug for Pieces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pieces").finish_non_exhaustive()
    }
}
