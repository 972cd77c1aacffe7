//! `tabularium describe`: describes the columns of a table or of a view.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{elements, rows};
use crate::cli::lake::lake_scope::LakeScope;
use crate::cli::query::inline;
use crate::cli::query::resource_types::named;
use crate::cli::query::run::targets;
use crate::cli::tables::terminology::TerminologyArgument;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::manner::{notice, width};
use crate::cli::terminal::table::Table;
use crate::fhir::TypeId;
use crate::views::View;

/// The maximum number of distinct values that are counted for a column.
const COUNTED: usize = 10_000;
/// The maximum size in bytes of the distinct values that are kept for a column, 16 MiB.
const KEPT: usize = 16 << 20;
/// The maximum number of examples for a column. `LETTERS` is the maximum number of characters in an example.
const EXAMPLES: usize = 3;
const LETTERS: usize = 40;

/// Describe the columns of a table or a view: type, share of rows with a value, distinct values, examples
///
/// For a resource type the columns are those of `tabularium show`, for a ViewDefinition its own. The examples are
/// contents of records.
///
/// Exit codes: 0 described; 2 there is no such type or file, or the view is faulty; 1 another failure.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tabularium describe Observation")]
pub(in crate::cli) struct DescribeArgs {
    /// A resource type, or a ViewDefinition's file
    #[arg(value_name = "TABLE|VIEW.json")]
    what: String,
    #[command(flatten)]
    lake: LakeScope,
    /// Read at most this many rows [default: all]
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    terminology: TerminologyArgument,
}

/// The counts and examples of one column.
#[derive(Default)]
struct Held {
    filled: u64,
    distinct: HashSet<String>,
    bytes: usize,
    /// Whether the column has more distinct values than `distinct`, because `COUNTED` or `KEPT` was reached.
    more: bool,
    examples: Vec<String>,
}

impl Held {
    fn take(&mut self, value: String) {
        if value.is_empty() {
            return;
        }
        self.filled += 1;
        if self.distinct.contains(&value) {
            return;
        }
        if self.distinct.len() >= COUNTED || self.bytes + value.len() > KEPT {
            self.more = true;
            return;
        }
        if self.examples.len() < EXAMPLES {
            let mut example: String = value.chars().take(LETTERS).collect();
            if example.len() < value.len() {
                example.push('…');
            }
            self.examples.push(example);
        }
        self.bytes += value.len();
        self.distinct.insert(value);
    }
}

/// Reads the rows, and prints for each column the type, the share of rows with a value, the number of distinct values,
/// and examples.
pub(in crate::cli) fn run(arguments: DescribeArgs) -> Result<(), Failure> {
    let lake = arguments.lake.open()?;
    let (view, type_id) = view(&arguments)?;
    let types = view.columns().iter().map(|column| {
        let of_element = type_id.and_then(|type_id| elements::types(type_id, &column.name));
        of_element
            .or_else(|| column.fhir_type.clone())
            .unwrap_or_else(|| column.sql_type())
    });
    let types: Vec<String> = types.collect();
    let names: Vec<String> = view.columns().iter().map(|column| column.name.clone()).collect();
    let mut held: Vec<Held> = names.iter().map(|_| Held::default()).collect();
    let mut total: u64 = 0;
    rows::read(
        &lake,
        &arguments.lake.scope(&lake),
        Arc::new(view),
        arguments.rows,
        |row| {
            total += 1;
            held.iter_mut().zip(row).for_each(|(held, value)| held.take(value));
        },
    )?;
    let columns = || names.iter().zip(&types).zip(&held);
    if arguments.json {
        let columns: Vec<Value> = columns()
            .map(|((name, type_name), held)| object(name, type_name, held))
            .collect();
        println!("{:#}", json!({"rows": total, "columns": columns}));
        return Ok(());
    }
    let heading = ["column", "type", "filled", "distinct", "examples"].map(str::to_owned);
    let mut table = Table::new(heading.into(), std::io::stdout().is_terminal().then(width));
    let empty: Vec<&str> = columns()
        .filter(|(_, held)| held.filled == 0)
        .map(|((name, _), _)| name.as_str())
        .collect();
    for ((name, type_name), held) in columns().filter(|(_, held)| held.filled > 0) {
        print!("{}", table.push(row(name, type_name, held, total)));
    }
    print!("{}", table.finish());
    let told = match total {
        1 => "1 row".to_owned(),
        total => format!("{total} rows"),
    };
    if empty.is_empty() {
        notice(&format!("({told})"));
    } else {
        notice(&format!("({told}; empty: {})", empty.join(", ")));
    }
    Ok(())
}

/// Returns the view to describe. If the argument names a resource type, the view has a column for each element, and the
/// resource type is returned with it. If the argument names a file, the resource type is `None`.
fn view(arguments: &DescribeArgs) -> Result<(View, Option<TypeId>), Failure> {
    let terminology = arguments.terminology.load(Some(&arguments.lake.data))?;
    let file = Path::new(&arguments.what);
    let names_file = arguments.what == "-" || arguments.what.ends_with(".json") || file.is_file();
    if names_file {
        return Ok((targets::read(file, terminology, false)?, None));
    }
    let type_id = named(&arguments.what).map_err(Failure::input)?;
    let view = inline::view(
        &arguments.what,
        &elements::columns(type_id),
        "--column",
        None,
        terminology,
        false,
    )?;
    Ok((view, Some(type_id)))
}

/// Formats the share of rows with a value as a percentage.
fn share(filled: u64, total: u64) -> String {
    match (filled, total) {
        (filled, total) if filled == total => "100%".to_owned(),
        // Rounding must not show a small share as 0%, or an incomplete column as 100%.
        (filled, total) => format!("{:.1}%", (filled as f64 / total as f64 * 100.0).clamp(0.1, 99.9)),
    }
}

fn distinct(held: &Held) -> String {
    let more = if held.more { "+" } else { "" };
    format!("{}{more}", held.distinct.len())
}

fn row(name: &str, type_name: &str, held: &Held, total: u64) -> Vec<String> {
    vec![
        name.to_owned(),
        type_name.to_owned(),
        share(held.filled, total),
        distinct(held),
        held.examples.join(", "),
    ]
}

fn object(name: &str, type_name: &str, held: &Held) -> Value {
    json!({
        "name": name, "type": type_name, "filled": held.filled, "distinct": held.distinct.len(),
        "distinctIsLowerBound": held.more, "examples": held.examples,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_round_to_what_is_true() {
        let shares =
            [(0, 0), (5, 5), (1, 3), (1, 100_000), (99_999, 100_000)].map(|(filled, total)| share(filled, total));
        assert_eq!(shares, ["100%", "100%", "33.3%", "0.1%", "99.9%"]);
    }

    #[test]
    fn values_are_counted_and_shown_once() {
        let mut held = Held::default();
        for value in ["a", "", "b", "a", "c", "d", &"x".repeat(50)] {
            held.take(value.to_owned());
        }
        assert_eq!((held.filled, distinct(&held)), (6, "5".to_owned()));
        assert_eq!(held.examples, ["a", "b", "c"]);
        (0..COUNTED).for_each(|number| held.take(format!("v{number}")));
        assert_eq!(distinct(&held), format!("{COUNTED}+"));
    }
}
