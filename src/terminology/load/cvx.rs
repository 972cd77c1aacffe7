//! Reads CDC's tables of vaccines (CVX) and of their manufacturers (MVX): fields between bars or tabs, or XML.

use std::collections::HashMap;
use std::io::BufRead;

use super::xml;
use crate::published::{Lines, PublishedError};
use crate::terminology::codes::systems;
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};

/// One row of either table.
#[derive(Default)]
struct Row {
    code: String,
    display: String,
    full_name: String,
    status: String,
    /// The day of the row's last change, as `yyyy-mm-dd`. Empty if it is not known.
    changed: String,
}

/// Reads CVX. The short description is the display.
pub(super) fn vaccines(lines: &mut Lines<'_>, version: Option<String>) -> Result<CodeSystem, TerminologyError> {
    let mut rows = Vec::new();
    while lines.advance()? {
        let fields = fields(lines.text());
        let [code, short, full, _, status, _, changed, ..] = fields.as_slice() else {
            return Err(lines
                .fail("code, two names, notes, status, whether it is no vaccine, and date")
                .into());
        };
        rows.push(Row {
            code: (*code).to_string(),
            display: (*short).to_string(),
            full_name: (*full).to_string(),
            status: (*status).to_string(),
            changed: day(changed),
        });
    }
    build(systems::CVX, rows, version)
}

/// Reads MVX. The manufacturer's name is the display.
pub(super) fn manufacturers(lines: &mut Lines<'_>, version: Option<String>) -> Result<CodeSystem, TerminologyError> {
    let mut rows = Vec::new();
    while lines.advance()? {
        let fields = fields(lines.text());
        let [code, name, _, status, changed, ..] = fields.as_slice() else {
            return Err(lines.fail("code, name, notes, status and date").into());
        };
        rows.push(Row {
            code: (*code).to_string(),
            display: (*name).to_string(),
            status: (*status).to_string(),
            changed: day(changed),
            ..Row::default()
        });
    }
    build(systems::MVX, rows, version)
}

/// Reads either table as XML. Each row is an element. Its fields are child elements that have the names of the columns,
/// or pairs of the elements `Name` and `Value`.
pub(super) fn from_xml(
    system: &str,
    reader: &mut dyn BufRead,
    name: &str,
    version: Option<String>,
) -> Result<CodeSystem, TerminologyError> {
    let (info, code) = match system {
        systems::CVX => ("CVXInfo", "cvxcode"),
        _ => ("MVXInfo", "mvxcode"),
    };
    let mut rows = Vec::new();
    for (number, row) in xml::rows(reader, name, info)?.into_iter().enumerate() {
        let mut row: HashMap<String, String> = row;
        let mut take = |names: &[&str]| names.iter().find_map(|name| row.remove(*name)).unwrap_or_default();
        let code = take(&[code, "code"]);
        if code.is_empty() {
            let error = PublishedError::Line {
                name: name.to_string(),
                line: number as u64 + 1,
                expected: format!("a code in each {info}"),
            };
            return Err(error.into());
        }
        rows.push(Row {
            code,
            display: take(&[
                "shortdescription",
                "cvxshortdescription",
                "manufacturername",
                "manufacturer",
            ]),
            full_name: take(&["fullvaccinename", "cvxfullvaccinename"]),
            status: take(&["status", "vaccinestatus"]),
            changed: day(&take(&["lastupdated", "lastupdateddate"])),
        });
    }
    build(system, rows, version)
}

fn fields(line: &str) -> Vec<&str> {
    let separator = if line.contains('|') { '|' } else { '\t' };
    line.split(separator).map(str::trim).collect()
}

/// Converts a day written `yyyy/mm/dd` or `mm/dd/yyyy` to `yyyy-mm-dd`. Accepts hyphens in place of slashes. Returns an
/// empty text for any other form.
fn day(text: &str) -> String {
    let parts: Vec<&str> = text.split(['/', '-']).collect();
    match parts[..] {
        [year, month, day] if year.len() == 4 => format!("{year}-{month:0>2}-{day:0>2}"),
        [month, day, year] if year.len() == 4 => format!("{year}-{month:0>2}-{day:0>2}"),
        _ => String::new(),
    }
}

/// Builds the system. If no version is given, the version is the latest day on which a row was changed.
fn build(system: &str, rows: Vec<Row>, version: Option<String>) -> Result<CodeSystem, TerminologyError> {
    let newest = rows
        .iter()
        .map(|row| &row.changed)
        .max()
        .filter(|day| !day.is_empty())
        .cloned();
    let mut builder = Builder::new(Head::complete(system, version.or(newest)));
    for row in rows {
        let (place, _) = builder.concept(&row.code)?;
        builder.display(
            place,
            if row.display.is_empty() {
                &row.full_name
            } else {
                &row.display
            },
        )?;
        for (name, value) in [("fullName", &row.full_name), ("status", &row.status)] {
            if !value.is_empty() {
                builder.property(place, name, value)?;
            }
        }
    }
    builder.finish()
}
