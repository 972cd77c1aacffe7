//! Reads LOINC's CSV: Loinc.csv, or the short LoincTableCore.csv.

use std::io::BufRead;

use crate::published::CsvTable;
use crate::terminology::codes::systems;
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};

/// The columns that become properties. FHIR gives the properties the same names.
const PROPERTIES: [&str; 10] = [
    "COMPONENT",
    "PROPERTY",
    "TIME_ASPCT",
    "SYSTEM",
    "SCALE_TYP",
    "METHOD_TYP",
    "CLASS",
    "CLASSTYPE",
    "STATUS",
    "ORDER_OBS",
];

pub(super) fn read(
    reader: &mut dyn BufRead,
    name: &str,
    version: Option<String>,
) -> Result<CodeSystem, TerminologyError> {
    let mut table = CsvTable::new(reader, name, b',', |names| names.iter().any(|name| name == "LOINC_NUM"))?;
    let column = |name: &str| table.column(name);
    let (code, display) = (column("LOINC_NUM"), column("LONG_COMMON_NAME"));
    let (short, changed) = (column("SHORTNAME"), column("VERSIONLASTCHANGED"));
    let properties: Vec<(&str, usize)> = PROPERTIES
        .iter()
        .filter_map(|name| Some((*name, column(name)?)))
        .collect();
    let (Some(code), Some(display)) = (code, display) else {
        return Err(table.fail("the columns LOINC_NUM and LONG_COMMON_NAME").into());
    };
    // LOINC's parts and answers are codes of LOINC, too, but they are not in this table. So the system is partial.
    let mut builder = Builder::new(Head::partial(systems::LOINC, None));
    let mut newest: Option<(Vec<u32>, String)> = None;
    while table.advance()? {
        let number = table.field(code);
        if !is_loinc(&number) {
            return Err(table.fail("digits, a hyphen and a check digit in LOINC_NUM").into());
        }
        let (place, _) = builder.concept(&number)?;
        let (long, short) = (table.field(display), short.map(|short| table.field(short)));
        builder.display(
            place,
            if long.is_empty() {
                short.as_deref().unwrap_or_default()
            } else {
                &long
            },
        )?;
        for (name, column) in &properties {
            let value = table.field(*column);
            if !value.is_empty() {
                builder.property(place, name, &value)?;
            }
        }
        if let Some(changed) = changed {
            let text = table.field(changed);
            let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
            newest = newest.max(parts.map(|parts| (parts, text)));
        }
    }
    // If no version is given, the version is the newest release in which a term was changed.
    builder.set_version(version.or(newest.map(|(_, text)| text)));
    builder.finish()
}

fn is_loinc(code: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    code.split_once('-')
        .is_some_and(|(number, check)| digits(number) && digits(check) && check.len() == 1)
}
