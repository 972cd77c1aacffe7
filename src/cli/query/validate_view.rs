//! `tabularium validate-view`: reports all findings about ViewDefinitions, without running them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::tables::terminology::TerminologyArgument;
use super::super::terminal::columns::listed;
use super::super::terminal::failure::Failure;
use super::definition;
use crate::fhir::facts;
use crate::views::{Checked, Column, Finding, View};

/// Check ViewDefinitions (SQL on FHIR) and show the columns they give
///
/// For each view it prints the columns: name, FHIR type, SQL type, and whether a row has a list of values. Then come
/// warnings or errors, each with its place in the ViewDefinition.
///
/// Exit codes: 0 all views can be run, with warnings or not; 2 a view is wrong or cannot be read; standard error has a
/// sentence about each.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// ViewDefinitions, JSON files; - is standard input
    #[arg(value_name = "VIEW.json", required = true)]
    views: Vec<PathBuf>,
    /// Print a JSON array with an object for each view
    #[arg(long)]
    json: bool,
    /// Refuse JSON's names (valueCoding, resourceType) where FHIRPath has others, as run --strict does
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    terminology: TerminologyArgument,
}

/// Checks the views, and prints their columns and findings.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let terminology = arguments.terminology.load(None)?;
    let (mut faulty, mut objects) = (Vec::new(), Vec::new());
    for (place, file) in arguments.views.iter().enumerate() {
        let text = match definition::read(file) {
            Ok(text) => text,
            Err(failure) => {
                faulty.push(failure);
                continue;
            }
        };
        let checked = if arguments.strict {
            View::check_strictly(&text, terminology.clone())
        } else {
            View::check_with(&text, terminology.clone())
        };
        if arguments.json {
            objects.push(object(file, &checked));
        } else {
            if place > 0 {
                println!();
            }
            show(file, &checked);
        }
        // The failure only counts the errors, because the findings are printed above.
        faulty.extend(match checked.errors().count() {
            0 if checked.view().is_some() => None,
            1 => Some(Failure::input(format!("{}: 1 error", file.display()))),
            errors => Some(Failure::input(format!("{}: {errors} errors", file.display()))),
        });
    }
    if arguments.json {
        println!("{:#}", Value::from(objects));
    }
    Failure::all(faulty)
}

/// Prints the columns and the findings of a view as text.
fn show(file: &Path, checked: &Checked) {
    match checked.view() {
        Some(view) => {
            let name = view.name().map(|name| format!(" {name}")).unwrap_or_default();
            let resource = facts().get(view.resource()).name;
            println!("{}: view{name} of {resource}", file.display());
            table(view.columns());
        }
        None => println!("{}: cannot be run", file.display()),
    }
    for finding in checked.findings() {
        println!("{}: {finding}", finding.severity.as_str());
    }
}

fn table(columns: &[Column]) {
    let row = |column: &Column| {
        [
            column.name.clone(),
            column.fhir_type.clone().unwrap_or_else(|| "(several)".to_owned()),
            column.sql_type(),
            if column.collection { "yes" } else { "no" }.to_owned(),
        ]
    };
    let rows: Vec<[String; 4]> = columns.iter().map(row).collect();
    for line in listed(["column", "type", "SQL type", "collection"], &rows).lines() {
        println!("  {line}");
    }
}

/// Returns the columns and the findings of a view as JSON.
fn object(file: &Path, checked: &Checked) -> Value {
    let view = checked.view();
    json!({
        "file": file.to_string_lossy(),
        "valid": view.is_some(),
        "name": view.and_then(View::name),
        "resource": view.map(|view| facts().get(view.resource()).name),
        "columns": checked.columns().iter().map(column).collect::<Vec<_>>(),
        "findings": checked.findings().iter().map(finding).collect::<Vec<_>>(),
    })
}

fn column(column: &Column) -> Value {
    let tags = column
        .tags
        .iter()
        .map(|tag| json!({"name": tag.name, "value": tag.value}));
    json!({
        "name": column.name,
        "type": column.fhir_type,
        "sqlType": column.sql_type(),
        "collection": column.collection,
        "description": column.description,
        "tag": tags.collect::<Vec<_>>(),
    })
}

fn finding(finding: &Finding) -> Value {
    let position = finding.position.map(|at| json!({"line": at.line, "column": at.column}));
    json!({
        "severity": finding.severity.as_str(),
        "code": finding.code.as_str(),
        "expression": finding.at,
        "column": finding.column,
        "position": position,
        "problem": finding.problem,
    })
}
