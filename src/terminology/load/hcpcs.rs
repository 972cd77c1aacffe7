//! Reads CMS's annual HCPCS file: records of 320 columns. A record of kind 3 begins a procedure, and a record of kind 7
//! begins a modifier. Records of kind 4 and 8 continue the long title of the same code.

use super::layout::is_hcpcs;
use crate::published::{Lines, columns};
use crate::terminology::codes::systems;
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};

pub(super) fn read(lines: &mut Lines<'_>, version: Option<String>) -> Result<CodeSystem, TerminologyError> {
    let mut builder = Builder::new(Head::complete(systems::HCPCS, version));
    let (mut current, mut title) = (None, String::new());
    while lines.advance()? {
        let line = lines.text();
        if !is_hcpcs(line) && builder.len() == 0 {
            // The line belongs to CMS's notice above the records.
            continue;
        }
        if !is_hcpcs(line) {
            let expected = "a HCPCS code or modifier, a sequence of 5 digits and the kind of record in column 11";
            return Err(lines.fail(expected).into());
        }
        let (code, long) = (columns(line, 0, 5), columns(line, 11, 91));
        if matches!(line.as_bytes()[10], b'3' | b'7') {
            finish(&mut builder, current, &title)?;
            let (place, _) = builder.concept(code)?;
            let short = columns(line, 91, 119);
            if !short.is_empty() {
                builder.property(place, "shortDescription", short)?;
            }
            current = Some(place);
            title = long.to_string();
        } else if current.is_some_and(|place| builder.code(place) == code) {
            title.push(' ');
            title.push_str(long);
        } else {
            return Err(lines
                .fail("the first record of a code before those that go on with it")
                .into());
        }
    }
    finish(&mut builder, current, &title)?;
    builder.finish()
}

fn finish(builder: &mut Builder, place: Option<u32>, title: &str) -> Result<(), TerminologyError> {
    place.map_or(Ok(()), |place| builder.display(place, title))
}
