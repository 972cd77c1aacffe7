//! The destination of a command's output: standard output, a device, a pipe, or a file. A file gets its name when it
//! is complete.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

use super::columns::{counted, plain};
use super::failure::Failure;
use super::manner::{notice, width};
use super::table::Table;

/// A destination of output.
pub(in crate::cli) enum Sink {
    /// Standard output.
    Stdout(StdoutLock<'static>),
    /// A device or a pipe. Output goes to it directly, not to a temporary file, because a file must not replace it.
    Stream(BufWriter<File>),
    /// A file that is not complete yet.
    File(Part),
    /// A destination that gets rows in CSV and writes them as a table for people.
    Table(Box<TableSink>),
    /// Drops all output, because the view that writes it has failed.
    Gone,
}

/// An unfinished file, which has a temporary name. If this value is dropped before it is finished, the file is deleted.
pub(in crate::cli) struct Part {
    /// The path as the user wrote it.
    named: PathBuf,
    path: PathBuf,
    part: PathBuf,
    writer: Option<BufWriter<File>>,
}

/// How many rows of a table a terminal shows. It affects terminals only: files and pipes get all rows.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Excerpt {
    rows: usize,
    /// The options that give the other rows, such as `--out for all`.
    others: &'static str,
}

impl Excerpt {
    /// Shows the first 40 rows. `others` says how to get the others.
    pub(in crate::cli) fn new(others: &'static str) -> Excerpt {
        Excerpt { rows: 40, others }
    }

    /// Shows all rows, because the user has limited them.
    pub(in crate::cli) fn all() -> Excerpt {
        Excerpt {
            rows: usize::MAX,
            others: "",
        }
    }

    /// Formats the line below a table of this many rows.
    fn line(self, rows: usize) -> String {
        let all = counted(rows as u64, "row");
        if rows > self.rows {
            format!("({} of {all}; {})", self.rows, self.others)
        } else {
            format!("({all})")
        }
    }
}

/// The reason to stop writing.
pub(in crate::cli) enum Stop {
    /// The reader has closed the output. This is no error.
    Quiet,
    /// Writing failed.
    Failed(Failure),
}

impl Sink {
    /// Opens the file, device or pipe of this path. `None` means standard output.
    pub(in crate::cli) fn at(path: Option<&Path>) -> Result<Sink, Failure> {
        match path {
            None => Ok(Sink::Stdout(std::io::stdout().lock())),
            Some(path) => Sink::named(path),
        }
    }

    fn named(path: &Path) -> Result<Sink, Failure> {
        let failed = |error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
        if path == Path::new("/dev/stdout") {
            return Ok(Sink::Stdout(std::io::stdout().lock()));
        }
        match std::fs::metadata(path) {
            // If the path is a link to a file, that file is replaced and the link stays.
            Ok(found) if found.is_file() => Part::new(path, &path.canonicalize().map_err(failed)?).map(Sink::File),
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                Ok(Sink::Stream(BufWriter::new(file)))
            }
            Err(_) => Part::new(path, path).map(Sink::File),
        }
    }

    pub(in crate::cli) fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        match self {
            Sink::Gone => Ok(()),
            Sink::Stdout(sink) => sink.write_all(bytes).map_err(stopped),
            Sink::Stream(sink) => sink.write_all(bytes).map_err(stopped),
            Sink::File(part) => part.write(bytes).map_err(Stop::Failed),
            Sink::Table(table) => table.write(bytes),
        }
    }

    /// Returns a sink that writes rows to this one as a table for people. It takes the rows as CSV, the heading first.
    /// Each call of `write` must pass whole rows. On a terminal the table has only the rows of the excerpt.
    pub(in crate::cli) fn of_table(self, excerpt: Excerpt) -> Sink {
        let is_terminal = matches!(self, Sink::Stdout(_)) && std::io::stdout().is_terminal();
        Sink::Table(Box::new(TableSink {
            sink: self,
            widest: is_terminal.then(width),
            excerpt: is_terminal.then_some(excerpt),
            shown: 0,
            table: None,
        }))
    }

    /// Prints how many rows were written. For a file it prints the name, too. For a table on a terminal it prints how
    /// many rows the table shows. Prints nothing if the output is another stream.
    pub(in crate::cli) fn tell_rows(&self, rows: usize) {
        let excerpt = match self {
            Sink::Table(table) => table.excerpt,
            _ => None,
        };
        match excerpt {
            Some(excerpt) => notice(&excerpt.line(rows)),
            None => self.tell(&counted(rows as u64, "row")),
        }
    }

    /// Prints `what` was written, and the name of the file. Prints nothing if the output is no file.
    pub(in crate::cli) fn tell(&self, what: &str) {
        match self {
            Sink::File(part) => notice(&format!("{what} to {}", plain(&part.named.display().to_string()))),
            Sink::Table(table) => table.sink.tell(what),
            Sink::Stdout(_) | Sink::Stream(_) | Sink::Gone => {}
        }
    }

    /// Finishes the output. A file gets its name now.
    pub(in crate::cli) fn finish(&mut self) -> Result<(), Stop> {
        match self {
            Sink::Gone => Ok(()),
            Sink::Stdout(sink) => sink.flush().map_err(stopped),
            Sink::Stream(sink) => sink.flush().map_err(stopped),
            Sink::File(part) => part.finish().map_err(Stop::Failed),
            Sink::Table(table) => table.finish(),
        }
    }
}

/// The table that is written from CSV rows, and its destination.
pub(in crate::cli) struct TableSink {
    sink: Sink,
    widest: Option<usize>,
    /// The rows to show. `None` for all, if the output is no terminal.
    excerpt: Option<Excerpt>,
    /// The number of rows that the table has so far.
    shown: usize,
    table: Option<Table>,
}

impl TableSink {
    /// Whether the table has all rows that it may show.
    fn is_full(&self) -> bool {
        self.table.is_some() && self.excerpt.is_some_and(|excerpt| self.shown >= excerpt.rows)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if self.is_full() {
            return Ok(());
        }
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        let mut text = String::new();
        for record in reader.records() {
            let record = record.map_err(|error| Stop::Failed(Failure::other(error)))?;
            let cells = record.iter().map(str::to_owned).collect();
            match &mut self.table {
                Some(table) => {
                    text.push_str(&table.push(cells));
                    self.shown += 1;
                }
                None => self.table = Some(Table::new(cells, self.widest)),
            }
            if self.is_full() {
                // Shows the table now, because counting the other rows may take long.
                text.push_str(&self.table.as_mut().map(Table::finish).unwrap_or_default());
                break;
            }
        }
        self.sink.write(text.as_bytes())
    }

    fn finish(&mut self) -> Result<(), Stop> {
        let rest = self.table.as_mut().map(Table::finish).unwrap_or_default();
        self.sink.write(rest.as_bytes())?;
        self.sink.finish()
    }
}

fn stopped(error: std::io::Error) -> Stop {
    match error.kind() {
        ErrorKind::BrokenPipe => Stop::Quiet,
        _ => Stop::Failed(Failure::other(format!("the output could not be written: {error}"))),
    }
}

impl Part {
    fn new(named: &Path, path: &Path) -> Result<Part, Failure> {
        let name = path
            .file_name()
            .ok_or_else(|| Failure::input(format!("{} is no file name", path.display())))?;
        // Another file, or a link, may have any name that somebody can guess. So the part gets a random one.
        let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
        let part = path.with_file_name(format!(".{}.{number:016x}.part", name.to_string_lossy()));
        let file = OpenOptions::new().write(true).create_new(true).open(&part);
        let file = file.map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        Ok(Part {
            named: named.to_owned(),
            path: path.to_owned(),
            part,
            writer: Some(BufWriter::new(file)),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.writer {
            Some(writer) => writer.write_all(bytes),
            None => Ok(()),
        };
        written.map_err(|error| self.failed(error))
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        let written = writer.flush().and_then(|()| std::fs::rename(&self.part, &self.path));
        if written.is_err() {
            self.writer = Some(writer);
        }
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: std::io::Error) -> Failure {
        Failure::other(format!("{}: {error}", self.path.display()))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            // If the file cannot be deleted, no message is printed.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a table with this excerpt writes for the pieces.
    fn written(excerpt: Option<Excerpt>, pieces: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("table.txt");
        let mut table = TableSink {
            sink: Sink::at(Some(file.as_path())).unwrap_or_else(|failure| panic!("{}", failure.to_text())),
            widest: None,
            excerpt,
            shown: 0,
            table: None,
        };
        for piece in pieces {
            assert!(table.write(piece.as_bytes()).is_ok());
        }
        assert!(table.finish().is_ok());
        let text = std::fs::read_to_string(&file).unwrap();
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_terminal_shows_the_first_rows() {
        let two = Excerpt {
            rows: 2,
            others: "--out for all",
        };
        let pieces = ["id\n", "a\n", "b\nc\n", "d\n"];
        assert_eq!(written(Some(two), &pieces), "id\na\nb\n");
        assert_eq!(written(Some(Excerpt::all()), &pieces), "id\na\nb\nc\nd\n");
        assert_eq!(written(None, &pieces), "id\na\nb\nc\nd\n");
        assert_eq!(written(Some(two), &["id\n"]), "id\n");
        assert_eq!(two.line(4_000), "(2 of 4,000 rows; --out for all)");
        assert_eq!(two.line(2), "(2 rows)");
        assert_eq!(Excerpt::all().line(1), "(1 row)");
    }
}
