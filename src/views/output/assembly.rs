//! Assembles a view's output from the rows that the workers computed. Adds the text before the rows, after the rows and
//! between batches, and cuts the rows at the limit. The caller decides the order of batches.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::super::error::RunError;
use super::super::view::View;
use super::{Format, ParquetWriter, Rest, SpoolRoom, TextColumn, TextFormat};

/// Rows that a worker computed, and their text if the format is a text format.
pub(in crate::views) struct Computed {
    batch: RecordBatch,
    text: Option<Vec<u8>>,
}

impl Computed {
    /// Converts rows to text, if `form` is a text format.
    pub(in crate::views) fn new(
        view: &View,
        form: Option<TextFormat>,
        batch: RecordBatch,
    ) -> Result<Computed, RunError> {
        let text = form.map(|form| form.rows(view.columns(), &batch)).transpose()?;
        Ok(Computed { batch, text })
    }
}

/// Bytes of the output, and the number of rows in them.
pub(in crate::views) struct Piece {
    pub(in crate::views) bytes: Vec<u8>,
    pub(in crate::views) rows: usize,
}

/// An output that is being written.
pub(in crate::views) struct Assembly {
    view: Arc<View>,
    form: Form,
    /// The number of rows that the output still takes until the limit is reached.
    left: usize,
    /// Whether the output already has rows.
    begun: bool,
}

enum Form {
    Text(TextFormat),
    Parquet(Box<ParquetWriter>),
}

impl Assembly {
    /// Begins an output of at most `limit` rows. `share` is the number of outputs that are written at the same time.
    /// Each of them gets an equal part of the memory. `room` limits the bytes of rows that wait for their Parquet
    /// types.
    pub(in crate::views) fn new(
        view: Arc<View>,
        format: Format,
        limit: Option<usize>,
        share: usize,
        room: Option<Arc<SpoolRoom>>,
    ) -> Result<Assembly, RunError> {
        let form = match TextFormat::of(format) {
            Some(form) => Form::Text(form),
            None => {
                let as_text = format == Format::ParquetText;
                Form::Parquet(Box::new(ParquetWriter::new(view.columns(), as_text, share, room)?))
            }
        };
        Ok(Assembly {
            view,
            form,
            left: limit.unwrap_or(usize::MAX),
            begun: false,
        })
    }

    /// Whether the output may take more rows.
    pub(in crate::views) fn wants_rows(&self) -> bool {
        self.left > 0
    }

    /// Returns the text before all rows.
    pub(in crate::views) fn head(&self) -> Result<Vec<u8>, RunError> {
        match &self.form {
            Form::Text(form) => form.head(self.view.columns()),
            // The Parquet writer returns the header of the file together with rows.
            Form::Parquet(_) => Ok(Vec::new()),
        }
    }

    /// Writes the next rows, up to the limit.
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
            Form::Parquet(writer) => writer.write(&batch.slice(0, rows))?,
        };
        self.begun |= rows > 0;
        self.left -= rows;
        Ok(Piece { bytes, rows })
    }

    /// Ends the output. Returns what follows the rows.
    pub(in crate::views) fn finish(self) -> Result<Tail, RunError> {
        match self.form {
            Form::Text(form) => Ok(Tail::Text(Some(form.tail()))),
            Form::Parquet(writer) => writer.finish().map(|rest| Tail::Parquet(Box::new(rest))),
        }
    }
}

/// The end of an output, piece by piece.
pub(in crate::views) enum Tail {
    Text(Option<&'static [u8]>),
    Parquet(Box<Rest>),
}

impl Tail {
    /// Returns the columns that are text in Parquet although their FHIR type has a SQL type.
    pub(in crate::views) fn texts(&self) -> &[TextColumn] {
        match self {
            Tail::Text(_) => &[],
            Tail::Parquet(rest) => rest.texts(),
        }
    }
}

impl Iterator for Tail {
    type Item = Result<Vec<u8>, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Tail::Text(text) => text.take().map(|text| Ok(text.to_vec())),
            Tail::Parquet(rest) => rest.next(),
        }
    }
}
