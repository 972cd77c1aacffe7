//! The arguments of `tabularium run`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::cli::lake::lake_scope::LOCAL;
use crate::cli::query::inline::{self, TypedColumn};
use crate::cli::service::mode::Mode;
use crate::cli::tables::terminology::TerminologyArgument;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::manner::is_watched;
use crate::cli::terminal::sink::Excerpt;
use crate::fhir::nearest::did_you_mean;
use crate::fhir::temporal::Temporal;
use crate::views::Format;

/// Tabulate records by ViewDefinitions (SQL on FHIR)
///
/// Reads a lake or, with --input, files: NDJSON (plain or gzip), Bundles, single resources and folders of these. Rows
/// come in the order of the resources. Values stay as written: decimals with all digits, dates with their precision and
/// zone. A list is a JSON array, in CSV too.
///
/// Several views, given as files or with --views, are written into the folder --out. Each has a file, named after the
/// view's file: blood-pressure.view.json becomes blood-pressure.csv. Views of one resource type share one scan of the
/// lake. A file gets its name when it is complete.
///
/// Exit codes: 0 done; 2 a view is wrong, or a path cannot be read completely: wrong views are named before anything is
/// written, and a view that fails over the data leaves no file, while the others are written; 3 written, but some input
/// was refused, or a view exceeded the limits of work, rows or text and left no file; 1 another failure.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("source").required(true).args(["data", "input"])))]
#[command(
    after_help = "Examples:\n  tabularium run blood-pressure.view.json --data lake --out pressure.csv\n  \
                        tabularium run Patient --data lake --column id --column born=birthDate --limit 5"
)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["view", "views"])))]
pub(in crate::cli) struct Args {
    /// Files with a ViewDefinition each; - is standard input. With --column: a resource type instead
    #[arg(value_name = "VIEW.json")]
    pub(super) view: Vec<PathBuf>,
    /// A column, instead of a view's file: NAME=FHIRPATH, or an expression alone; may be given several times
    #[arg(long, value_name = "COLUMN", requires = "view", conflicts_with = "views", value_parser = inline::column)]
    pub(super) column: Vec<TypedColumn>,
    /// With --column: only resources for which this FHIRPath expression is true
    #[arg(long = "where", value_name = "FHIRPATH", requires = "column")]
    pub(super) filter: Option<String>,
    /// A folder of ViewDefinitions; every .json file that is not hidden is read
    #[arg(long, value_name = "DIR")]
    pub(super) views: Option<PathBuf>,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// A file or folder to read instead of a lake, - for standard input; may be given several times
    #[arg(long, value_name = "FILE_OR_DIR")]
    pub(super) input: Vec<PathBuf>,
    /// Read the live or the test records
    #[arg(long, value_enum, default_value_t = Mode::Live, conflicts_with = "input")]
    pub(super) mode: Mode,
    /// The application whose records to read
    #[arg(long, value_name = "ID", default_value = LOCAL, conflicts_with = "input")]
    pub(super) application: String,
    /// Only resources filed under this Patient (by subject, patient or beneficiary); may be given several times
    #[arg(long, value_name = "ID")]
    patient: Vec<String>,
    /// Only resources updated at this time or later: a date, or a date and time, such as 2026-01-31 or
    /// 2026-01-31T08:00:00Z
    ///
    /// In files meta.lastUpdated decides, and resources without it are left out.
    #[arg(long, value_name = "INSTANT", value_parser = since)]
    pub(super) since: Option<i64>,
    /// How to write the rows [default: by the ending of --out, else a table on a terminal and CSV elsewhere]
    #[arg(long, value_enum)]
    format: Option<FormatArgument>,
    /// Write a JSON array, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The file to write [default: standard output]; for several views the folder
    #[arg(long, value_name = "PATH")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) terminology: TerminologyArgument,
    /// Write at most this many rows of each view. Without it, a table on a terminal has the first 40
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// Leave out the line that names the columns (CSV)
    #[arg(long)]
    no_header: bool,
    /// Parquet: write decimals, dates and times as text, as they are in the records. Without it a column has the SQL
    /// type of its FHIR type, if all its values fit. A tag ansi/type always decides
    #[arg(long)]
    text: bool,
    /// Refuse JSON's names (valueCoding, resourceType) where FHIRPath has others. Without it they work, with a warning
    #[arg(long)]
    pub(super) strict: bool,
    /// Print the plan over a lake instead of rows: what it reads, and which views share a scan. --explain=analyze runs
    /// the views first, and prints what each step did and what was skipped and why
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, value_name = "HOW", default_missing_value = "plan")]
    pub(super) explain: Option<ExplainArgument>,
}

/// The endings of file names that tell the format.
const EXTENSIONS: [&str; 4] = ["csv", "json", "ndjson", "parquet"];

/// The values of `--explain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum ExplainArgument {
    /// The plan alone; nothing is read
    Plan,
    /// The plan with the metrics of a run
    Analyze,
}

/// The values of `--format`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(in crate::cli) enum FormatArgument {
    /// Columns that line up, for people
    Table,
    Csv,
    Json,
    Ndjson,
    Parquet,
}

impl From<FormatArgument> for Format {
    fn from(format: FormatArgument) -> Format {
        match format {
            // A table is formatted from CSV rows.
            FormatArgument::Csv | FormatArgument::Table => Format::Csv { header: true },
            FormatArgument::Json => Format::Json,
            FormatArgument::Ndjson => Format::Ndjson,
            FormatArgument::Parquet => Format::Parquet,
        }
    }
}

/// Returns the format of the rows. It is the format of `--format`. Without `--format` the extension of the file `out`
/// decides, and without an extension it is CSV. Fails if no format has the extension.
pub(in crate::cli) fn format_of(
    format: Option<FormatArgument>,
    out: Option<&Path>,
    no_header: bool,
) -> Result<Format, Failure> {
    let extension = out
        .and_then(Path::extension)
        .map(|extension| extension.to_string_lossy());
    let named = match (format, extension) {
        (Some(format), _) => format.into(),
        (None, None) => Format::Csv { header: true },
        (None, Some(extension)) => Format::parse(&extension).ok_or_else(|| {
            let meant = did_you_mean(&extension, EXTENSIONS.into_iter());
            Failure::input(format!(
                "--out: no format has the ending .{extension}{meant}; name a file that ends in {}, or the format with \
                 --format",
                EXTENSIONS.map(|known| format!(".{known}")).join(", ")
            ))
        })?,
    };
    Ok(match named {
        // A table always has a header.
        Format::Csv { .. } => Format::Csv {
            header: !no_header || is_table(format, out),
        },
        other => other,
    })
}

/// Whether rows are written as a table for people: with `--format table`, or on a terminal without `--format` and
/// `--out`.
pub(in crate::cli) fn is_table(named: Option<FormatArgument>, out: Option<&Path>) -> bool {
    match named {
        Some(FormatArgument::Table) => true,
        Some(_) => false,
        None => out.is_none() && std::io::stdout().is_terminal(),
    }
}

/// Returns `format`. Fails if Parquet would be written to a terminal. With `explain` it never fails, because a plan is
/// printed as text.
pub(in crate::cli) fn refuse_on_terminal(format: Format, out: Option<&Path>, explain: bool) -> Result<Format, Failure> {
    if matches!(format, Format::Parquet | Format::ParquetText)
        && out.is_none()
        && std::io::stdout().is_terminal()
        && !explain
    {
        return Err(Failure::input(
            "Parquet is not for the terminal; name a file with --out",
        ));
    }
    Ok(format)
}

fn since(text: &str) -> Result<i64, String> {
    let time = Temporal::date_time(text).or_else(|_| Temporal::instant(text));
    time.map(|time| time.start).map_err(|error| error.to_string())
}

impl Args {
    /// Whether the command line can name several views. Then `--out` is a folder with one file for each view.
    pub(super) fn is_several(&self) -> bool {
        self.views.is_some() || self.view.len() > 1
    }

    /// Returns the ids of the requested Patients. `None` if `--patient` is not given.
    pub(super) fn patients(&self) -> Option<Vec<String>> {
        (!self.patient.is_empty()).then(|| self.patient.clone())
    }

    /// Returns the format of the rows. Fails if `--text` is given without Parquet, or if Parquet would go to a
    /// terminal.
    pub(super) fn format(&self) -> Result<Format, Failure> {
        let out = self.out.as_deref();
        let mut format = format_of(self.named_format(), out.filter(|_| !self.is_several()), self.no_header)?;
        if self.text {
            format = match format {
                Format::Parquet | Format::ParquetText => Format::ParquetText,
                _ => {
                    return Err(Failure::input(
                        "--text is for --format parquet; other formats are text anyway",
                    ));
                }
            };
        }
        refuse_on_terminal(format, out, self.explain.is_some())
    }

    /// Returns the format that `--format` or `--json` names.
    fn named_format(&self) -> Option<FormatArgument> {
        self.format.or(self.json.then_some(FormatArgument::Json))
    }

    /// If rows are written as a table for people, returns how many of them a terminal shows.
    pub(super) fn table(&self) -> Option<Excerpt> {
        let excerpt = match self.limit {
            Some(_) => Excerpt::all(),
            None => Excerpt::new("--limit or --out for more"),
        };
        is_table(self.named_format(), self.out.as_deref()).then_some(excerpt)
    }

    /// Returns the extension of the files of several views.
    pub(super) fn extension(&self) -> &'static str {
        match self.named_format() {
            None | Some(FormatArgument::Csv) => "csv",
            Some(FormatArgument::Table) => "txt",
            Some(FormatArgument::Json) => "json",
            Some(FormatArgument::Ndjson) => "ndjson",
            Some(FormatArgument::Parquet) => "parquet",
        }
    }

    /// Whether to show progress: standard error is a terminal, the program is not quiet, and the rows do not go to a
    /// terminal.
    pub(super) fn shows_progress(&self) -> bool {
        is_watched() && (self.out.is_some() || !std::io::stdout().is_terminal())
    }
}
