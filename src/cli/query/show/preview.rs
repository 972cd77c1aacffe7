//! `tabularium show`: prints the first rows of a table.

use std::io::IsTerminal;
use std::sync::Arc;

use super::{elements, rows};
use crate::cli::lake::info;
use crate::cli::lake::lake_scope::LakeScope;
use crate::cli::query::inline::{self, TypedColumn};
use crate::cli::query::resource_types::named;
use crate::cli::tables::terminology::TerminologyArgument;
use crate::cli::terminal::columns::{counted, grouped};
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::manner::{notice, width};
use crate::cli::terminal::table::{Table, fitting};
use crate::fhir::TypeId;
use crate::lake::Lake;

/// Show the first rows of a table, or which tables there are
///
/// Without --columns it shows all elements with a simple value that are not empty in all rows, and of a list the first
/// value. Elements with elements of their own, such as component, are named below the table. --columns takes elements
/// (code, component.code) and FHIRPath expressions, with a name or without: born=birthDate.
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
    let (mut columns, chosen) = columns(&arguments, type_id)?;
    let asked = columns.len();
    // Count the items of the elements that have no column, to name below the table those with items.
    let skipped = if chosen || arguments.json {
        Vec::new()
    } else {
        elements::skipped(type_id)
    };
    columns.extend(skipped.iter().map(|shown| shown.column.clone()));
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
        println!("{}", rows::json(&lake, &scope, view, Some(arguments.limit))?);
        return Ok(());
    }
    let mut found = Vec::new();
    // Read one row more than the limit, to learn whether the table has more rows.
    let limit = arguments.limit.saturating_add(1);
    rows::read(&lake, &scope, view, Some(limit), |row| found.push(row))?;
    if found.is_empty() && arguments.filter.is_none() {
        notice(&nothing(&lake, name)?);
        return Ok(());
    }
    let has_more = found.len() > arguments.limit;
    found.truncate(arguments.limit);
    let kept: Vec<usize> = (0..asked).filter(|at| chosen || is_filled(&found, *at)).collect();
    let heading: Vec<String> = kept.iter().map(|at| names[*at].clone()).collect();
    let cells = |row: &Vec<String>| kept.iter().map(|at| row[*at].clone()).collect();
    let cells: Vec<Vec<String>> = found.iter().map(cells).collect();
    let widest = std::io::stdout().is_terminal().then(width);
    // A terminal shows only as many columns as have room, unless the user chose the columns.
    let count = match widest {
        Some(widest) if !chosen => fitting(&heading, &cells, widest),
        _ => heading.len(),
    };
    let mut table = Table::new(heading[..count].to_vec(), widest);
    for row in &cells {
        print!("{}", table.push(row[..count].to_vec()));
    }
    print!("{}", table.finish());
    let mut told = counted(found.len() as u64, "row");
    if has_more {
        // Counting all rows of the table reads no column. With a filter it would read the whole table.
        if arguments.filter.is_none() {
            let total = rows::count(&lake, &scope, type_id)?;
            told = format!("{} of {}", grouped(found.len() as u64), counted(total, "row"));
        }
        told.push_str("; --limit shows more");
    }
    if count < heading.len() {
        told.push_str(&format!("; --columns shows {}", heading[count..].join(", ")));
    }
    let has_items = |at: usize| found.iter().any(|row| row[asked + at] != "0");
    let left: Vec<&str> = (0..skipped.len())
        .filter(|at| has_items(*at))
        .map(|at| skipped[at].path.as_str())
        .collect();
    if !left.is_empty() {
        told.push_str(&format!(
            "; not shown: {} (describe {name} lists the elements inside)",
            left.join(", ")
        ));
    }
    notice(&format!("({told})"));
    Ok(())
}

/// Tells why a table without a filter has no rows.
fn nothing(lake: &Lake, name: &str) -> Result<String, Failure> {
    let info = lake.info().map_err(Failure::other)?;
    let has_rows = info.tables.iter().any(|table| table.table == name && table.rows > 0);
    Ok(if has_rows {
        format!("no {name} is in reach; --mode, --application and --patient choose the records")
    } else {
        format!("the lake has no {name}")
    })
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
    let columns: Vec<TypedColumn> = parts.map(|part| column(type_id, part)).collect::<Result<_, _>>()?;
    if columns.is_empty() {
        Err(Failure::input("--columns names no column"))
    } else {
        Ok((columns, true))
    }
}

/// Parses a column of `--columns`. The path of an element stands for a text of its value.
fn column(type_id: TypeId, part: &str) -> Result<TypedColumn, Failure> {
    let wrong = |problem: String| Failure::input(format!("--columns {part}: {problem}"));
    let typed = inline::column(part).map_err(wrong)?;
    if let Some(element) = elements::named(type_id, &typed.path) {
        return Ok(TypedColumn {
            name: typed.name,
            path: element.path,
        });
    }
    let inside = elements::inside(type_id, &typed.path);
    if inside.is_empty() {
        Ok(typed)
    } else {
        let (path, inside) = (&typed.path, inside.join(", "));
        Err(wrong(format!(
            "{path} has elements of its own; name those to show: {inside}"
        )))
    }
}
