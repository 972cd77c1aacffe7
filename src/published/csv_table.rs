//! Reads a CSV file whose columns are found by name.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use csv::ByteRecord;

use super::error::PublishedError;
use super::lines::decode;

/// The maximum length of a record in bytes. It stops the reader after an unclosed quotation mark, because the rest of
/// the file would be one record.
const MAX_RECORD: u64 = 16 << 20;

/// The rows of a CSV file after its header.
pub(crate) struct CsvTable<'r> {
    reader: csv::Reader<Bounded<'r>>,
    /// The position in the file up to which bytes may be read.
    limit: Rc<Cell<u64>>,
    name: &'r str,
    header: Vec<String>,
    record: ByteRecord,
    /// The line at which the current record begins.
    line: u64,
}

/// Finds the header in the first bytes of a file: the first record for which `is_header` returns true. Returns its
/// names in upper case.
pub(crate) fn header(head: &[u8], delimiter: u8, is_header: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(delimiter);
    let records = builder.from_reader(head).into_byte_records();
    let mut names = records.map_while(Result::ok).map(|record| names(&record));
    names.find(|names| is_header(names))
}

impl<'r> CsvTable<'r> {
    /// Reads up to the header: the first record for which `is_header` returns true. `is_header` gets the names in
    /// upper case.
    pub(crate) fn new(
        reader: &'r mut dyn BufRead,
        name: &'r str,
        delimiter: u8,
        is_header: impl Fn(&[String]) -> bool,
    ) -> Result<CsvTable<'r>, PublishedError> {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(delimiter);
        let limit = Rc::new(Cell::new(0));
        let bounded = Bounded {
            inner: reader,
            read: 0,
            limit: limit.clone(),
        };
        let mut table = CsvTable {
            reader: builder.from_reader(bounded),
            limit,
            name,
            header: Vec::new(),
            record: ByteRecord::new(),
            line: 1,
        };
        while table.read()? {
            let names = names(&table.record);
            if is_header(&names) {
                table.header = names;
                return Ok(table);
            }
        }
        Err(table.fail("a header"))
    }

    /// Returns the names of the columns, in upper case.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// Returns the index of the column with this name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|known| known == name)
    }

    /// Returns the index of the first column whose name begins with `name`.
    pub(crate) fn column_starting(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|known| known.starts_with(name))
    }

    /// Goes to the next row. Returns false at the end. Fails if the row has fewer columns than the header, or if it has
    /// text in a column that the header does not have.
    pub(crate) fn advance(&mut self) -> Result<bool, PublishedError> {
        let more = self.read()?;
        // Spreadsheets write empty columns after the last one, so empty columns are allowed.
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

    /// Goes to the next row that has text after its first column. Skips other rows, which are empty or footnotes.
    /// Returns false at the end. Fails if the row has fewer columns than the header.
    pub(crate) fn advance_beyond_notes(&mut self) -> Result<bool, PublishedError> {
        loop {
            if !self.read()? {
                return Ok(false);
            }
            if self.record.iter().skip(1).any(|field| !field.trim_ascii().is_empty()) {
                break;
            }
        }
        if self.record.len() < self.header.len() {
            Err(self.fail(&format!("{} columns, as the header has,", self.header.len())))
        } else {
            Ok(true)
        }
    }

    /// Returns a field of the current row, without surrounding spaces.
    pub(crate) fn field(&self, column: usize) -> String {
        let field = self.record.get(column).unwrap_or_default();
        decode(field).trim().to_string()
    }

    /// Returns an error for the current row. `expected` says what the row should have.
    pub(crate) fn fail(&self, expected: &str) -> PublishedError {
        let position = self.record.position().or(Some(self.reader.position()));
        PublishedError::Line {
            name: self.name.to_string(),
            line: position.map_or(self.line, csv::Position::line),
            expected: expected.to_string(),
        }
    }

    fn read(&mut self) -> Result<bool, PublishedError> {
        let position = self.reader.position();
        self.line = position.line();
        self.limit.set(position.byte() + MAX_RECORD);
        self.reader.read_byte_record(&mut self.record).map_err(|error| {
            let is_long =
                matches!(error.kind(), csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge);
            if is_long {
                PublishedError::Line {
                    name: self.name.to_string(),
                    line: self.line,
                    expected: format!("a record of less than {} MiB", MAX_RECORD >> 20),
                }
            } else {
                PublishedError::Unreadable {
                    path: self.name.into(),
                    source: io::Error::other(error),
                }
            }
        })
    }
}

fn names(record: &ByteRecord) -> Vec<String> {
    let names = record.iter().map(|field| {
        let field = field.strip_prefix(b"\xef\xbb\xbf").unwrap_or(field);
        decode(field).replace('"', "").trim().to_uppercase()
    });
    names.collect()
}

/// A reader that removes carriage returns. With them, the CSV reader would count a line only when it reads the next
/// line. The reader returns an error at `limit`, which moves forward with each record.
struct Bounded<'r> {
    inner: &'r mut dyn BufRead,
    read: u64,
    limit: Rc<Cell<u64>>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read >= self.limit.get() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        loop {
            let read = self.inner.read(buffer)?;
            let mut kept = 0;
            for at in 0..read {
                if buffer[at] != b'\r' {
                    buffer[kept] = buffer[at];
                    kept += 1;
                }
            }
            if kept > 0 || read == 0 {
                self.read += kept as u64;
                return Ok(kept);
            }
        }
    }
}
