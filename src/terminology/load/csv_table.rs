//! A CSV file whose columns are found by name.

use std::io::{BufRead, Read};

use csv::ByteRecord;

use super::lines::decode;
use crate::terminology::error::TerminologyError;

/// The rows of a CSV file below its header.
pub(super) struct CsvTable<'r> {
    reader: csv::Reader<WithoutReturns<'r>>,
    name: &'r str,
    header: Vec<String>,
    record: ByteRecord,
}

impl<'r> CsvTable<'r> {
    /// Reads to the header: the first row for which `is_header` is true, given its names in upper case.
    pub(super) fn new(
        reader: &'r mut dyn BufRead,
        name: &'r str,
        delimiter: u8,
        is_header: impl Fn(&[String]) -> bool,
    ) -> Result<CsvTable<'r>, TerminologyError> {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(delimiter);
        let mut table = CsvTable {
            reader: builder.from_reader(WithoutReturns(reader)),
            name,
            header: Vec::new(),
            record: ByteRecord::new(),
        };
        while table.read()? {
            let names = table.record.iter().map(|field| {
                let field = field.strip_prefix(b"\xef\xbb\xbf").unwrap_or(field);
                decode(field).replace('"', "").trim().to_uppercase()
            });
            let names: Vec<String> = names.collect();
            if is_header(&names) {
                table.header = names;
                return Ok(table);
            }
        }
        Err(table.fail("a header"))
    }

    /// The number of a column.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|known| known == name)
    }

    /// The number of the column whose name begins so.
    pub(super) fn column_starting(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|known| known.starts_with(name))
    }

    /// Goes to the next row. False at the end.
    pub(super) fn advance(&mut self) -> Result<bool, TerminologyError> {
        let more = self.read()?;
        // Spreadsheets leave empty columns behind the last one.
        let surplus = self
            .record
            .iter()
            .skip(self.header.len())
            .any(|field| !field.is_empty());
        if more && (self.record.len() < self.header.len() || surplus) {
            let count = self.header.len();
            return Err(self.fail(&format!("{count} columns, as the header has,")));
        }
        Ok(more)
    }

    /// A field of the row, without spaces around.
    pub(super) fn field(&self, column: usize) -> String {
        let field = self.record.get(column).unwrap_or_default();
        decode(field).trim().to_string()
    }

    /// What is wrong with the row.
    pub(super) fn fail(&self, expected: &str) -> TerminologyError {
        let position = self.record.position().or(Some(self.reader.position()));
        TerminologyError::Line {
            name: self.name.to_string(),
            line: position.map_or(0, csv::Position::line),
            expected: expected.to_string(),
        }
    }

    fn read(&mut self) -> Result<bool, TerminologyError> {
        let read = self.reader.read_byte_record(&mut self.record);
        read.map_err(|error| TerminologyError::Unreadable {
            path: self.name.into(),
            source: std::io::Error::other(error),
        })
    }
}

/// A file without carriage returns. With them the CSV reader counts a line only when it reads the next one.
struct WithoutReturns<'r>(&'r mut dyn BufRead);

impl Read for WithoutReturns<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.0.read(buffer)?;
            let mut kept = 0;
            for at in 0..read {
                if buffer[at] != b'\r' {
                    buffer[kept] = buffer[at];
                    kept += 1;
                }
            }
            if kept > 0 || read == 0 {
                return Ok(kept);
            }
        }
    }
}
