//! `tabularium show`: prints the first rows of a table.

use std::io::IsTerminal;
use std::sync::Arc;

use super::{elements, rows};
use crate::cli::lake::info;
use crate::cli::lake::lake_scope::LakeScope;
use crate::cli::query::inline::{self, TypedColumn};
use crate::cli::query::resource_types::named;
use crate::cli::tables::terminology::TerminologyArgument;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::manner::{notice, width};
use crate::cli::terminal::table::Table;
use crate::fhir::TypeId;

/// Show the first rows of a table, or which tables there are
///
/// Without --columns it shows all elements with a simple value that are not empty in all rows, and of a list the first
/// value. --columns takes elements and FHIRPath expressions, with a name or without: born=birthDate.
///
/// Exit codes: 0 shown; 2 there is no such type, or an expression is wrong; 1 another failure.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: tabularium show Patient --columns id,name,born=birthDate --where \"gender = 'female'\" --limit 5"
)]
pub(in crate::cli) struct ShowArgs {
    /// The resource type [default: list the tables]
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    #[command(flatten)]
    lake: LakeScope,
    /// Elements and FHIRPath expressions, with commas between them; may be given several times
    #[arg(long, value_name = "COLUMNS", requires = "table")]
    columns: Vec<String>,
    /// Only resources for which this FHIRPath expression is true
    #[arg(long = "where", value_name = "FHIRPATH", requires = "table")]
    filter: Option<String>,
    /// Print at most this many rows
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    terminology: TerminologyArgument,
}

/// Prints the first rows of a table. Without a table, lists the tables.
pub(in crate::cli) fn run(arguments: ShowArgs) -> Result<(), Failure> {
    let lake = arguments.lake.open()?;
    let Some(name) = &arguments.table else {
        return info::print(&lake, arguments.json);
    };
    let type_id = named(name).map_err(Failure::input)?;
    let (columns, chosen) = columns(&arguments, type_id)?;
    let scope = arguments.lake.scope(&lake);
    let terminology = arguments.terminology.load(Some(&arguments.lake.data))?;
    let view = inline::view(
        name,
        &columns,
        "--columns",
        arguments.filter.as_deref(),
        terminology,
        false,
    )?;
    let names: Vec<String> = view.columns().iter().map(|column| column.name.clone()).collect();
    let view = Arc::new(view);
    if arguments.json {
        print!("{}", rows::json(&lake, &scope, view, Some(arguments.limit))?);
        return Ok(());
    }
    let mut found = Vec::new();
    // Read one row more than the limit, to learn whether the table has more rows.
    let limit = arguments.limit.saturating_add(1);
    rows::read(&lake, &scope, view, Some(limit), |row| found.push(row))?;
    let has_more = found.len() > arguments.limit;
    found.truncate(arguments.limit);
    let kept: Vec<usize> = (0..names.len()).filter(|at| chosen || is_filled(&found, *at)).collect();
    let widest = std::io::stdout().is_terminal().then(width);
    // A column with less than 12 characters is hard to read. So a terminal shows only as many columns as have room,
    // unless the user chose the columns.
    let fitting = match widest {
        Some(widest) if !chosen => kept.iter().copied().take((widest / 12).max(1)).collect(),
        _ => kept.clone(),
    };
    let mut table = Table::new(fitting.iter().map(|at| names[*at].clone()).collect(), widest);
    for row in &found {
        print!("{}", table.push(fitting.iter().map(|at| row[*at].clone()).collect()));
    }
    print!("{}", table.finish());
    let mut told = match found.len() {
        1 => "1 row".to_owned(),
        count => format!("{count} rows"),
    };
    if has_more {
        told.push_str("; --limit shows more");
    }
    let left: Vec<&str> = kept
        .iter()
        .filter(|at| !fitting.contains(at))
        .map(|at| names[*at].as_str())
        .collect();
    if !left.is_empty() {
        told.push_str(&format!("; --columns shows {}", left.join(", ")));
    }
    notice(&format!("({told})"));
    Ok(())
}

fn is_filled(rows: &[Vec<String>], at: usize) -> bool {
    rows.is_empty() || rows.iter().any(|row| !row[at].is_empty())
}

/// Returns the columns to show, and whether the user chose them with `--columns`.
fn columns(arguments: &ShowArgs, type_id: TypeId) -> Result<(Vec<TypedColumn>, bool), Failure> {
    if arguments.columns.is_empty() {
        return Ok((elements::columns(type_id), false));
    }
    let parts = arguments.columns.iter().flat_map(|list| inline::parts(list));
    let columns = parts.map(|part| match elements::named(type_id, part) {
        Some(element) => Ok(element),
        None => inline::column(part).map_err(|problem| Failure::input(format!("--columns {part}: {problem}"))),
    });
    let columns: Vec<TypedColumn> = columns.collect::<Result<_, _>>()?;
    if columns.is_empty() {
        Err(Failure::input("--columns names no column"))
    } else {
        Ok((columns, true))
    }
}
