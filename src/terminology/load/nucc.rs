//! Reads NUCC's CSV of provider taxonomy codes.

use std::io::BufRead;

use crate::published::CsvTable;
use crate::terminology::codes::systems;
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};

pub(super) fn read(
    reader: &mut dyn BufRead,
    name: &str,
    version: Option<String>,
) -> Result<CodeSystem, TerminologyError> {
    let mut table = CsvTable::new(reader, name, b',', |names| names.iter().any(|name| name == "GROUPING"))?;
    let mut builder = Builder::new(Head::complete(systems::NUCC, version));
    let columns =
        ["CODE", "GROUPING", "CLASSIFICATION", "SPECIALIZATION", "DISPLAY NAME"].map(|name| table.column(name));
    let of =
        |table: &CsvTable<'_>, column: Option<usize>| column.map_or_else(String::new, |column| table.field(column));
    while table.advance()? {
        let [code, grouping, classification, specialization, display] = columns.map(|column| of(&table, column));
        if code.len() != 10 || !code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(table.fail("a code of 10 letters and digits").into());
        }
        let (place, _) = builder.concept(&code)?;
        let composed = match specialization.as_str() {
            "" => classification.clone(),
            specialization => format!("{classification} - {specialization}"),
        };
        builder.display(place, if display.is_empty() { &composed } else { &display })?;
        for (name, value) in [
            ("grouping", &grouping),
            ("classification", &classification),
            ("specialization", &specialization),
        ] {
            if !value.is_empty() {
                builder.property(place, name, value)?;
            }
        }
    }
    builder.finish()
}
