//! Reads files with a ViewDefinition.

use std::io::{ErrorKind, Read};
use std::path::Path;

use super::super::terminal::failure::Failure;
use super::super::terminal::input::{open, reason};
use super::resource_types::named;

/// The maximum size of a ViewDefinition in bytes, 16 MiB. Real ones are far smaller.
const MAX_BYTES: u64 = 16 << 20;

/// Reads the text of a ViewDefinition. Refuses files that are too large, so that an endless file does not fill the
/// memory.
pub(in crate::cli) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let read = open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut text));
    read.map_err(|error| {
        let name = file.display();
        let is_type = file.to_str().is_some_and(|name| named(name).is_ok());
        Failure::input(match error.kind() {
            // There is no such file, and the name is a resource type. So the message says how to tabulate a type.
            ErrorKind::NotFound if is_type => format!(
                "{name}: no such file; to tabulate the type name its columns: {name} --column id --column FHIRPATH"
            ),
            _ => format!("{name}: {}", reason(&error)),
        })
    })?;
    if text.len() as u64 <= MAX_BYTES {
        Ok(text)
    } else {
        Err(Failure::input(format!(
            "{}: is larger than {} MiB, which no ViewDefinition needs",
            file.display(),
            MAX_BYTES >> 20
        )))
    }
}
