//! Assembles a view's output from the workers' results: text before and after the rows, text between batches, and the
//! limit. The caller decides the order of batches.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::super::error::RunError;
use super::super::view::View;
use super::{Format, ParquetWriter, TextFormat};

/// Rows that a worker computed, with their text where the output is text.
pub(in crate::views) struct Computed {
    batch: RecordBatch,
    text: Option<Vec<u8>>,
}

impl Computed {
    /// The rows, and their text in `form`.
    pub(in crate::views) fn new(
        view: &View,
        form: Option<TextFormat>,
        batch: RecordBatch,
    ) -> Result<Computed, RunError> {
        let text = form.map(|form| form.rows(view.columns(), &batch)).transpose()?;
        Ok(Computed { batch, text })
    }
}

/// Bytes of the output, and how many rows they add to it.
pub(in crate::views) struct Piece {
    pub(in crate::views) bytes: Vec<u8>,
    pub(in crate::views) rows: usize,
}

/// An output under way.
pub(in crate::views) struct Assembly {
    view: Arc<View>,
    form: Form,
    /// Rows still wanted.
    left: usize,
    /// Whether there are rows in it already.
    begun: bool,
}

enum Form {
    Text(TextFormat),
    Parquet(Box<ParquetWriter<Vec<u8>>>),
}

impl Assembly {
    /// Begins an output of at most `limit` rows, one of `share` that are written at once.
    pub(in crate::views) fn new(
        view: Arc<View>,
        format: Format,
        limit: Option<usize>,
        share: usize,
    ) -> Result<Assembly, RunError> {
        let form = match TextFormat::of(format) {
            Some(form) => Form::Text(form),
            None => Form::Parquet(Box::new(ParquetWriter::new(Vec::new(), view.columns(), share)?)),
        };
        Ok(Assembly {
            view,
            form,
            left: limit.unwrap_or(usize::MAX),
            begun: false,
        })
    }

    /// Whether more rows go into it.
    pub(in crate::views) fn wants_rows(&self) -> bool {
        self.left > 0
    }

    /// What precedes all rows.
    pub(in crate::views) fn head(&self) -> Result<Vec<u8>, RunError> {
        match &self.form {
            Form::Text(form) => form.head(self.view.columns()),
            // The writer has it in its sink.
            Form::Parquet(_) => Ok(Vec::new()),
        }
    }

    /// The next rows, as far as they are wanted.
    pub(in crate::views) fn add(&mut self, computed: Computed) -> Result<Piece, RunError> {
        let Computed { batch, text } = computed;
        let rows = batch.num_rows().min(self.left);
        let cut = rows < batch.num_rows();
        let bytes = match &mut self.form {
            Form::Text(form) => {
                let mut text = match text {
                    Some(text) if !cut => text,
                    _ => form.rows(self.view.columns(), &batch.slice(0, rows))?,
                };
                if self.begun && rows > 0 {
                    text.splice(0..0, form.between().iter().copied());
                }
                text
            }
            Form::Parquet(writer) => {
                writer.write(&batch.slice(0, rows))?;
                std::mem::take(writer.sink())
            }
        };
        self.begun |= rows > 0;
        self.left -= rows;
        Ok(Piece { bytes, rows })
    }

    /// The text after all rows.
    pub(in crate::views) fn finish(self) -> Result<Vec<u8>, RunError> {
        match self.form {
            Form::Text(form) => Ok(form.tail().to_vec()),
            Form::Parquet(writer) => writer.finish(),
        }
    }
}
