//! `tabularium run`: a ViewDefinition over a lake or over files, as a table.

use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::physical_plan::displayable;
use indicatif::{ProgressBar, ProgressStyle};

use super::failure::Failure;
use super::lake_scope::LOCAL;
use crate::ingest::{self, Fault, IngestError, Piece, Pieces, REFUSALS_KEPT, Reason, Refusal, Text};
use crate::lake::{Lake, Mode, Scope};
use crate::views::{Document, Format, Refused, Resources, Rows, Run, RunError, View};

/// Tabulate records by a ViewDefinition (SQL on FHIR)
///
/// Reads a lake, or, with --input, NDJSON (plain or gzip), Bundles, single resources and folders of these, leaving no lake
/// behind. Rows come in the order of the resources and are written as they are computed. Values keep the form they were
/// written in: decimals their digits, dates their precision and zone. A list is a JSON array, in CSV too.
///
/// Exit codes: 0 done; 2 the view is faulty or a path cannot be read, or not to its end; 3 written, but something in the input
/// was refused; 1 another failure.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("source").required(true).args(["data", "input"])))]
pub(super) struct Args {
    /// The ViewDefinition, a JSON file
    #[arg(value_name = "VIEW.json")]
    view: PathBuf,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A file or folder to read instead of a lake; may be given several times
    #[arg(long, value_name = "FILE_OR_DIR")]
    input: Vec<PathBuf>,
    /// How to write the rows; without it as the name of --out says, else as CSV
    #[arg(long, value_enum)]
    format: Option<FormatArgument>,
    /// The file to write; without it standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write so many rows at most
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Leave out the line that names the columns (CSV)
    #[arg(long)]
    no_header: bool,
    /// Print the plan instead of running it
    #[arg(long, requires = "data")]
    explain: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FormatArgument {
    Csv,
    Json,
    Ndjson,
    Parquet,
}

/// Runs the view.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    let view = Arc::new(read_view(&arguments.view)?);
    let format = arguments.format()?;
    let Some(data) = &arguments.data else {
        return over_files(&arguments, view, format);
    };
    let run = plan(data, view, arguments.limit)?;
    if arguments.explain {
        print!("{}", displayable(run.plan().as_ref()).indent(true));
        return Ok(());
    }
    let bar = arguments.progress_bar(None);
    let outcome = write(run.rows(), format, arguments.out.as_deref(), bar.as_ref(), || Ok(()));
    finish(bar);
    outcome
}

impl Args {
    fn format(&self) -> Result<Format, Failure> {
        let extension = self
            .out
            .as_deref()
            .and_then(Path::extension)
            .map(|extension| extension.to_string_lossy());
        let named = match self.format {
            Some(FormatArgument::Csv) => Some(Format::Csv { header: true }),
            Some(FormatArgument::Json) => Some(Format::Json),
            Some(FormatArgument::Ndjson) => Some(Format::Ndjson),
            Some(FormatArgument::Parquet) => Some(Format::Parquet),
            None => extension.and_then(|extension| Format::parse(&extension)),
        };
        let format = match named.unwrap_or(Format::Csv { header: true }) {
            Format::Csv { .. } => Format::Csv {
                header: !self.no_header,
            },
            other => other,
        };
        if format == Format::Parquet && self.out.is_none() && std::io::stdout().is_terminal() && !self.explain {
            return Err(Failure::input(
                "Parquet is not for the terminal; name a file with --out",
            ));
        }
        Ok(format)
    }

    /// A bar on standard error, if somebody is there to see it and the rows go elsewhere.
    fn progress_bar(&self, bytes: Option<u64>) -> Option<ProgressBar> {
        let visible = std::io::stderr().is_terminal() && (self.out.is_some() || !std::io::stdout().is_terminal());
        if !visible {
            return None;
        }
        let (bar, template) = match bytes {
            Some(bytes) => (
                ProgressBar::new(bytes),
                "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {msg} rows",
            ),
            None => (ProgressBar::new_spinner(), "{spinner} {msg} rows {elapsed}"),
        };
        Some(ProgressStyle::with_template(template).map_or(bar.clone(), |style| bar.with_style(style)))
    }
}

fn read_view(path: &Path) -> Result<View, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    View::parse(&text).map_err(|error| failed(&error))
}

fn plan(data: &Path, view: Arc<View>, limit: Option<usize>) -> Result<Run, Failure> {
    let lake = Lake::open(data).map_err(Failure::from_lake)?;
    let scope = Arc::new(Scope {
        mode: Mode::Live,
        application: LOCAL.into(),
        patient: None,
    });
    let table = lake.table(&lake.picture(), view.resource(), &scope);
    let planned = futures::executor::block_on(Run::new(&table, view, &Resources::default(), limit));
    planned.map_err(failure)
}

/// Runs the view over files.
fn over_files(arguments: &Args, view: Arc<View>, format: Format) -> Result<(), Failure> {
    let files = ingest::find(&arguments.input).map_err(|error| match error {
        IngestError::Input { .. } => Failure::input(error.to_string()),
        error => Failure::other(error),
    })?;
    let bar = arguments.progress_bar(Some(ingest::input_size(&arguments.input)));
    let refused = Arc::new(Refusals::default());
    let (of_documents, advance) = (refused.clone(), bar.clone());
    let documents = Pieces::new(files).filter_map(move |piece| match piece {
        Ok(piece) => {
            if let Some(bar) = &advance {
                bar.inc(piece.consumed);
            }
            Some(Input {
                piece,
                refused: of_documents.clone(),
            })
        }
        Err(Fault::Refused(refusal)) => {
            of_documents.add(refusal);
            None
        }
        Err(Fault::Broken(error)) => {
            of_documents.broken(error);
            None
        }
    });
    let rows = Rows::of_documents(view, documents, arguments.limit);
    let whole = || refused.whole();
    let outcome = write(rows, format, arguments.out.as_deref(), bar.as_ref(), whole);
    finish(bar);
    outcome?;
    refused.report()
}

/// Writes the rows. A file appears under its name when it is written and `whole` agrees that nothing is missing.
fn write(
    rows: Rows,
    format: Format,
    out: Option<&Path>,
    bar: Option<&ProgressBar>,
    whole: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let rows = match bar.cloned() {
        None => rows,
        Some(bar) => {
            let count = AtomicU64::new(0);
            rows.observed(Arc::new(move |rows| {
                let count = count.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
                bar.set_message(count.to_string());
            }))
        }
    };
    let Some(path) = out else {
        let mut sink = std::io::stdout().lock();
        return match rows.write(format, &mut sink) {
            // Whoever reads has had enough.
            Err(RunError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            outcome => outcome.map_err(failure).and_then(|()| whole()),
        };
    };
    let failed = |error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
    let name = path
        .file_name()
        .ok_or_else(|| Failure::input(format!("{} is no file name", path.display())))?;
    let part = path.with_file_name(format!(".{}.part", name.to_string_lossy()));
    let mut sink = BufWriter::new(std::fs::File::create(&part).map_err(failed)?);
    let written = rows.write(format, &mut sink).map_err(failure);
    let written = written
        .and_then(|()| sink.flush().map_err(failed))
        .and_then(|()| whole());
    drop(sink);
    match written {
        Ok(()) => std::fs::rename(&part, path).map_err(failed),
        Err(failure) => {
            // What is half written is of no use; that it stays is no reason for another message.
            let _ = std::fs::remove_file(&part);
            Err(failure)
        }
    }
}

fn finish(bar: Option<ProgressBar>) {
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn failure(error: RunError) -> Failure {
    match error.is_of_view() {
        true => Failure::input(error.to_string()),
        false => Failure::other(error),
    }
}

/// A piece of an input file.
struct Input {
    piece: Piece,
    refused: Arc<Refusals>,
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
            ty: None,
            reason,
        });
    }
}

/// What was refused: the first of them, how many there are, and what ended the input early.
#[derive(Default)]
struct Refusals {
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

    /// Whether all of the input was read.
    fn whole(&self) -> Result<(), Failure> {
        match self.broken.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(error) => Err(Failure::input(error.to_string())),
        }
    }

    fn report(&self) -> Result<(), Failure> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        for refusal in kept.iter() {
            eprintln!("refused {refusal}");
        }
        match self.count.load(Ordering::Relaxed) {
            0 => Ok(()),
            1 => Err(Failure::partial("1 resource was refused; the others' rows are written")),
            refused => Err(Failure::partial(format!(
                "{refused} resources were refused; the others' rows are written"
            ))),
        }
    }
}
