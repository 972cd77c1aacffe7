//! Reads CMS's order files of ICD-10-CM and ICD-10-PCS. The code is in columns 7 to 13. Column 15 has 1 if the code can
//! be billed. The short title begins in column 17, and the long title in column 78.

use super::layout::is_order;
use crate::published::{Lines, columns};
use crate::terminology::codes::systems;
use crate::terminology::codes::systems::dotted;
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};

/// Reads ICD-10-CM. The parent of a code is the longest other code that is a prefix of this code.
pub(super) fn diagnoses(lines: &mut Lines<'_>, version: Option<String>) -> Result<CodeSystem, TerminologyError> {
    let mut builder = Builder::new(Head::complete(systems::ICD_10_CM, version));
    while lines.advance()? {
        concept(lines, &mut builder, |code| dotted(code).into_owned())?;
    }
    let parents = |code: &str| -> Vec<String> {
        let plain = code.replace('.', "");
        let shorter = (3..plain.len()).rev();
        shorter.map(|length| dotted(&plain[..length]).into_owned()).collect()
    };
    join(&mut builder, parents);
    builder.finish()
}

/// Reads ICD-10-PCS. A code of 7 characters has a table as its parent. The table's code is the first 3 characters of
/// the code.
pub(super) fn procedures(lines: &mut Lines<'_>, version: Option<String>) -> Result<CodeSystem, TerminologyError> {
    let mut builder = Builder::new(Head::complete(systems::ICD_10_PCS, version));
    while lines.advance()? {
        concept(lines, &mut builder, str::to_string)?;
    }
    join(&mut builder, |code| match code.len() {
        7 => vec![code[..3].to_string()],
        _ => Vec::new(),
    });
    builder.finish()
}

fn concept(lines: &Lines<'_>, builder: &mut Builder, form: impl Fn(&str) -> String) -> Result<(), TerminologyError> {
    let line = lines.text();
    if !is_order(line) {
        return Err(lines
            .fail("an order number of 5 digits, a code from column 7, and 0 or 1 in column 15")
            .into());
    }
    let code = form(columns(line, 6, 13));
    let (short, long) = (columns(line, 16, 76), columns(line, 77, usize::MAX));
    let (place, _) = builder.concept(&code)?;
    builder.display(place, if long.is_empty() { short } else { long })?;
    if line.as_bytes()[14] == b'0' {
        // The code only groups other codes and cannot be billed. FHIR has the property `notSelectable` for this.
        builder.property(place, "notSelectable", "true")?;
    }
    Ok(())
}

/// Makes each code a child of the first of its possible parents that exists.
fn join(builder: &mut Builder, parents: impl Fn(&str) -> Vec<String>) {
    for place in 0..builder.len() as u32 {
        let parents = parents(builder.code(place));
        if let Some(parent) = parents.iter().find_map(|parent| builder.place(parent)) {
            builder.join(parent, place);
        }
    }
}
