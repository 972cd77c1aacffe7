//! Rows on their way out: batches in order, cut off at a limit, written in a format piece by piece.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::error::RunError;
use super::ordered::{Job, Jobs, Ordered};
use super::output::{Format, ParquetWriter, TextFormat};
use super::view::View;

/// The rows of a view that are still to be computed.
pub struct Rows {
    view: Arc<View>,
    jobs: Jobs<RecordBatch>,
    limit: Option<usize>,
    observer: Option<Arc<dyn Fn(usize) + Send + Sync>>,
}

/// A view's output as pieces of bytes, and what it amounts to.
pub struct Pieces {
    pieces: Box<dyn Iterator<Item = Result<Vec<u8>, RunError>> + Send>,
}

impl Rows {
    pub(super) fn new(view: Arc<View>, jobs: Jobs<RecordBatch>, limit: Option<usize>) -> Rows {
        Rows {
            view,
            jobs,
            limit,
            observer: None,
        }
    }

    /// Tells how many rows each batch has when it is taken.
    pub fn observed(self, observer: Arc<dyn Fn(usize) + Send + Sync>) -> Rows {
        Rows {
            observer: Some(observer),
            ..self
        }
    }

    /// As batches of Arrow columns.
    pub fn batches(self) -> impl Iterator<Item = Result<RecordBatch, RunError>> + Send {
        let (threads, observer) = (Rows::threads(self.limit), self.observer);
        let mut left = self.limit.unwrap_or(usize::MAX);
        let mut batches = Ordered::new(self.jobs, threads);
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

    /// As text or Parquet, in pieces as they get ready. Concatenated they are the output, if none of them is an error.
    pub fn pieces(self, format: Format) -> Pieces {
        let pieces: Box<dyn Iterator<Item = Result<Vec<u8>, RunError>> + Send> = match format {
            Format::Csv { header } => Box::new(self.text(TextFormat::Csv { header })),
            Format::Json => Box::new(self.text(TextFormat::Json)),
            Format::Ndjson => Box::new(self.text(TextFormat::Ndjson)),
            Format::Parquet => Box::new(self.parquet()),
        };
        Pieces { pieces }
    }

    /// Writes the output.
    pub fn write(self, format: Format, sink: &mut dyn Write) -> Result<(), RunError> {
        for piece in self.pieces(format) {
            sink.write_all(&piece?)?;
        }
        Ok(sink.flush()?)
    }

    fn text(self, format: TextFormat) -> impl Iterator<Item = Result<Vec<u8>, RunError>> + Send {
        let threads = Rows::threads(self.limit);
        let (view, limit, observer) = (self.view, self.limit, self.observer);
        let of_jobs = view.clone();
        let mut left = limit.unwrap_or(usize::MAX);
        let written = self.jobs.map(move |job| -> Job<(RecordBatch, Vec<u8>)> {
            let view = of_jobs.clone();
            Box::new(move || {
                Box::new(job().map(move |batch| {
                    let batch = batch?;
                    let text = format.rows(view.columns(), &batch)?;
                    Ok((batch, text))
                }))
            })
        });
        let mut written = Ordered::new(Box::new(written), threads);
        let mut first = true;
        let mut tail = Some(format.tail().to_vec());
        let head = format.head(view.columns());
        let body = std::iter::from_fn(move || {
            let next = if left == 0 { None } else { written.next() };
            let Some(next) = next else {
                return Some(Ok(tail.take()?));
            };
            Some(next.and_then(|(batch, mut text)| {
                if batch.num_rows() > left {
                    text = format.rows(view.columns(), &batch.slice(0, left))?;
                }
                if let Some(observer) = &observer {
                    observer(batch.num_rows().min(left));
                }
                left = left.saturating_sub(batch.num_rows());
                if !first && batch.num_rows() > 0 {
                    text.splice(0..0, format.between().iter().copied());
                }
                first &= batch.num_rows() == 0;
                Ok(text)
            }))
        });
        std::iter::once(head).chain(body)
    }

    fn parquet(self) -> impl Iterator<Item = Result<Vec<u8>, RunError>> + Send {
        let mut writer = Some(ParquetWriter::new(Vec::new(), self.view.schema().clone()));
        let mut batches = self.batches();
        std::iter::from_fn(move || {
            let mut open = match writer.take()? {
                Ok(open) => open,
                Err(error) => return Some(Err(error)),
            };
            let Some(batch) = batches.next() else {
                return Some(open.finish());
            };
            let written = batch
                .and_then(|batch| open.write(&batch))
                .map(|()| std::mem::take(open.sink()));
            writer = written.is_ok().then_some(Ok(open));
            Some(written)
        })
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

    /// The next piece that is not empty; none after an error.
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
