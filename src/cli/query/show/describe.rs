//! `tabularium describe`: describes the columns of a table or of a view.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::elements::{self, Shown};
use super::rows;
use crate::cli::lake::lake_scope::LakeScope;
use crate::cli::query::inline::{self, TypedColumn};
use crate::cli::query::resource_types::named;
use crate::cli::query::run::targets;
use crate::cli::tables::terminology::TerminologyArgument;
use crate::cli::terminal::columns::{counted, grouped};
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::manner::{notice, width};
use crate::cli::terminal::table::Table;
use crate::fhir::nearest::nearest_resource_type;
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
/// For a resource type the columns are its elements, for a ViewDefinition its own columns. An element with elements of
/// its own, such as component, has the number of its items; its elements follow, as component.code. Of several values
/// in a resource the first counts. The examples are contents of records.
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

/// A column to describe.
struct Column {
    name: String,
    type_name: String,
    /// Whether the column has numbers of items.
    counts: bool,
}

/// The counts and examples of one column.
#[derive(Default)]
struct Held {
    filled: u64,
    /// The number of items, if the column counts items.
    items: u64,
    distinct: HashSet<String>,
    bytes: usize,
    /// Whether the column has more distinct values than `distinct`, because `COUNTED` or `KEPT` was reached.
    more: bool,
    examples: Vec<String>,
}

impl Held {
    /// Adds the number of items in a row.
    fn count(&mut self, items: &str) {
        let items: u64 = items.parse().unwrap_or(0);
        self.filled += u64::from(items > 0);
        self.items += items;
    }

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
    let (view, described) = view(&arguments)?;
    let mut held: Vec<Held> = described.iter().map(|_| Held::default()).collect();
    let mut total: u64 = 0;
    rows::read(
        &lake,
        &arguments.lake.scope(&lake),
        Arc::new(view),
        arguments.rows,
        |row| {
            total += 1;
            for ((held, column), value) in held.iter_mut().zip(&described).zip(row) {
                if column.counts {
                    held.count(&value);
                } else {
                    held.take(value);
                }
            }
        },
    )?;
    let columns = || described.iter().zip(&held);
    if arguments.json {
        let columns: Vec<Value> = columns().map(|(column, held)| object(column, held)).collect();
        println!("{:#}", json!({"rows": total, "columns": columns}));
        return Ok(());
    }
    let heading = ["column", "type", "filled", "distinct", "examples"].map(str::to_owned);
    let mut table = Table::new(heading.into(), std::io::stdout().is_terminal().then(width));
    // Elements inside others are left out of this list, because it would be long.
    let empty: Vec<&str> = columns()
        .filter(|(column, held)| held.filled == 0 && !column.name.contains('.'))
        .map(|(column, _)| column.name.as_str())
        .collect();
    for (column, held) in columns().filter(|(_, held)| held.filled > 0) {
        print!("{}", table.push(row(column, held, total)));
    }
    print!("{}", table.finish());
    let told = counted(total, "row");
    if empty.is_empty() {
        notice(&format!("({told})"));
    } else {
        notice(&format!("({told}; empty: {})", empty.join(", ")));
    }
    Ok(())
}

/// Returns the view to describe, and its columns in words. If the argument names a resource type, the view has a column
/// for each element.
fn view(arguments: &DescribeArgs) -> Result<(View, Vec<Column>), Failure> {
    let terminology = arguments.terminology.load(Some(&arguments.lake.data))?;
    let file = Path::new(&arguments.what);
    let names_file = arguments.what == "-" || arguments.what.ends_with(".json") || file.is_file();
    if names_file {
        let view = targets::read(file, terminology, false)?;
        let columns = view.columns().iter().map(|column| Column {
            name: column.name.clone(),
            type_name: column.fhir_type.clone().unwrap_or_else(|| column.sql_type()),
            counts: false,
        });
        let columns = columns.collect();
        return Ok((view, columns));
    }
    let type_id = named(&arguments.what).map_err(|problem| {
        let name = &arguments.what;
        match nearest_resource_type(name) {
            Some(_) => Failure::input(problem),
            None => Failure::input(format!("{problem}; a view is given as its file, such as {name}.json")),
        }
    })?;
    let shown = elements::described(type_id);
    let columns: Vec<TypedColumn> = shown.iter().map(|shown| shown.column.clone()).collect();
    let view = inline::view(&arguments.what, &columns, "--column", None, terminology, false)?;
    let column = |shown: Shown| Column {
        name: shown.path,
        type_name: shown.types,
        counts: shown.counts,
    };
    Ok((view, shown.into_iter().map(column).collect()))
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
    format!("{}{more}", grouped(held.distinct.len() as u64))
}

fn row(column: &Column, held: &Held, total: u64) -> Vec<String> {
    let (distinct, examples) = if column.counts {
        (String::new(), counted(held.items, "item"))
    } else {
        (distinct(held), held.examples.join(", "))
    };
    vec![
        column.name.clone(),
        column.type_name.clone(),
        share(held.filled, total),
        distinct,
        examples,
    ]
}

fn object(column: &Column, held: &Held) -> Value {
    let Column { name, type_name, .. } = column;
    if column.counts {
        return json!({"name": name, "type": type_name, "filled": held.filled, "items": held.items});
    }
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
        assert_eq!(distinct(&held), "10,000+");
    }

    #[test]
    fn items_are_counted() {
        let mut held = Held::default();
        ["2", "0", "", "3"].into_iter().for_each(|items| held.count(items));
        assert_eq!((held.filled, held.items), (2, 5));
    }
}
