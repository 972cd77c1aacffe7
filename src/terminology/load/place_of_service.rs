//! Reads CMS's table of places of service: codes, names and descriptions between commas, tabs or bars, below a header.

use std::io::BufRead;

use crate::published::{CsvTable, PublishedError, decode};
use crate::terminology::codes::systems;
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};

const CODE: &str = "PLACE OF SERVICE CODE";
const NAME: &str = "PLACE OF SERVICE NAME";

pub(super) fn read(
    reader: &mut dyn BufRead,
    name: &str,
    version: Option<String>,
) -> Result<CodeSystem, TerminologyError> {
    // The header, which is near the beginning of the file, shows the separator of the columns.
    let delimiter = {
        let head = reader.fill_buf().map_err(|source| PublishedError::Unreadable {
            path: name.into(),
            source,
        })?;
        let head = decode(head).to_uppercase();
        let header = head
            .lines()
            .find(|line| line.contains(CODE) && line.contains(NAME))
            .unwrap_or_default();
        [b'\t', b'|']
            .into_iter()
            .find(|sign| header.contains(char::from(*sign)))
            .unwrap_or(b',')
    };
    let named = |names: &[String], wanted: &str| names.iter().position(|name| name.starts_with(wanted));
    let is_header = |names: &[String]| named(names, CODE).is_some() && named(names, NAME).is_some();
    let mut table = CsvTable::new(reader, name, delimiter, is_header)?;
    let (Some(code), Some(display)) = (table.column_starting(CODE), table.column_starting(NAME)) else {
        return Err(table.fail("the columns of codes and names").into());
    };
    let mut builder = Builder::new(Head::complete(systems::PLACE_OF_SERVICE, version));
    while table.advance()? {
        let (codes, display) = (table.field(code), table.field(display));
        // Ranges and unassigned codes are skipped.
        if display.eq_ignore_ascii_case("unassigned") || codes.contains('-') {
            continue;
        }
        if codes.is_empty() || codes.len() > 2 || !codes.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(table.fail("a code of 2 digits").into());
        }
        let (place, _) = builder.concept(&format!("{codes:0>2}"))?;
        builder.display(place, &display)?;
    }
    builder.finish()
}
