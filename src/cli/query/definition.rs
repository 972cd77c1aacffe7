//! Files that hold a ViewDefinition.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::super::terminal::failure::Failure;

/// Greatest length of a definition in bytes, far beyond what people or programs write.
const MOST: u64 = 16 << 20;

/// The text of a definition. What is no definition but a large or endless file does not get into memory.
pub(in crate::cli) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MOST + 1).read_to_end(&mut text));
    read.map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
    match text.len() as u64 <= MOST {
        true => Ok(text),
        false => Err(Failure::input(format!(
            "{}: is larger than {} MiB, which no ViewDefinition needs",
            file.display(),
            MOST >> 20
        ))),
    }
}
