//! The arguments of `tabularium sql`.

use std::path::PathBuf;

use crate::cli::lake::lake_scope::LakeScope;
use crate::cli::query::run::{ExplainArgument, FormatArgument, format_of, is_table, refuse_on_terminal};
use crate::cli::tables::terminology::TerminologyArgument;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::sink::Excerpt;
use crate::views::Format;

/// Ask SQL: resource types and views are tables, fhirpath() is a function
///
/// Every resource type is a table (Patient, Observation). Its columns are id, patient, last_updated, resource (the JSON
/// text) and the elements. Every view of --views is a table as well. fhirpath(Patient, 'name.family.first()') evaluates
/// a FHIRPath expression over a row. Names of columns are case-sensitive. Only the columns that a statement names are
/// read.
///
/// Exit codes: 0 done; 2 the statement is wrong, would write something, or does not fit the data; 3 it exceeded the
/// limits of memory or work; 130 stopped by Ctrl-C; 1 another failure. The file --out is written only with exit code 0.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: tabularium sql \"SELECT gender, count(*) AS n FROM Patient GROUP BY gender\" --data lake"
)]
#[command(group(clap::ArgGroup::new("statements").required(true).args(["statement", "file"])))]
pub(in crate::cli) struct Args {
    /// The statement: one SELECT, or WITH, EXPLAIN, DESCRIBE, SHOW TABLES
    #[arg(value_name = "SQL")]
    statement: Option<String>,
    /// A file with the statement; - is standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) lake: LakeScope,
    /// A folder of ViewDefinitions; each becomes a table. Every .json file that is not hidden is read
    #[arg(long, value_name = "DIR")]
    pub(super) views: Option<PathBuf>,
    /// How to write the rows [default: by the ending of --out, else a table on a terminal and CSV elsewhere]. A table
    /// on a terminal has the first 40 rows
    #[arg(long, value_enum)]
    format: Option<FormatArgument>,
    /// Write a JSON array, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Leave out the line that names the columns (CSV)
    #[arg(long)]
    no_header: bool,
    #[command(flatten)]
    pub(super) terminology: TerminologyArgument,
    /// Memory for sorts, joins, groups and the results of functions, in MiB. Sorts, joins and groups beyond it use
    /// encrypted temporary files; anything else ends the statement
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(super) memory: u64,
    /// Print the plan instead of rows: what it reads, and which conditions the scan decides. --explain=analyze runs the
    /// statement first, as EXPLAIN ANALYZE does, and prints what each step did and what was skipped and why
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, value_name = "HOW", default_missing_value = "plan")]
    pub(super) explain: Option<ExplainArgument>,
}

/// The maximum size of a statement in a file, in bytes. Real statements are far smaller.
const MAX_BYTES: u64 = 16 << 20;

impl Args {
    /// Returns the statement, from the command line, a file or standard input.
    pub(super) fn statement(&self) -> Result<String, Failure> {
        use std::io::Read;

        let Some(file) = &self.file else {
            return Ok(self.statement.clone().unwrap_or_default());
        };
        let mut text = Vec::new();
        let read = if file.as_os_str() == "-" {
            std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut text)
        } else {
            std::fs::File::open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut text))
        };
        let failed = |problem: &dyn std::fmt::Display| Failure::input(format!("{}: {problem}", file.display()));
        read.map_err(|error| failed(&error))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(failed(&format_args!("is larger than {} MiB", MAX_BYTES >> 20)));
        }
        String::from_utf8(text).map_err(|_| failed(&"is not UTF-8"))
    }

    /// Returns the format that `--format` or `--json` names.
    fn named_format(&self) -> Option<FormatArgument> {
        self.format.or(self.json.then_some(FormatArgument::Json))
    }

    /// If rows are written as a table for people, returns how many of them a terminal shows.
    pub(super) fn table(&self) -> Option<Excerpt> {
        let excerpt = Excerpt::new("--out or --format csv for all");
        is_table(self.named_format(), self.out.as_deref()).then_some(excerpt)
    }

    /// Returns the format of the rows. Fails if Parquet would go to a terminal.
    pub(super) fn format(&self) -> Result<Format, Failure> {
        let out = self.out.as_deref();
        let format = format_of(self.named_format(), out, self.no_header)?;
        refuse_on_terminal(format, out, self.explain.is_some())
    }
}
