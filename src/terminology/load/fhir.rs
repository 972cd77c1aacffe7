//! Reads FHIR CodeSystems and ValueSets: JSON with a resource or a Bundle, NDJSON, or a package (.tgz).

use std::io::{BufRead, Read};

use flate2::read::GzDecoder;
use serde_json::value::RawValue;

use super::layout::Layout;
use super::part::Part;
use crate::published::PublishedError;
use crate::terminology::error::TerminologyError;
use crate::terminology::sets::raw;
use crate::terminology::sets::raw::Resource;

/// The maximum number of bytes of a file. A larger file in a package is skipped. A larger file outside a package is an
/// error.
const MAX_ENTRY: u64 = 1 << 30;

/// Calls `each` with the CodeSystems and ValueSets of a file.
pub(super) fn read(part: &Part, each: &mut dyn FnMut(Resource)) -> Result<(), TerminologyError> {
    part.read(|reader| match part.layout {
        Layout::FhirPackage => package(reader, &part.name, each),
        layout => {
            let mut text = String::new();
            let read = reader.take(MAX_ENTRY + 1).read_to_string(&mut text);
            let read = read.map_err(|source| PublishedError::Unreadable {
                path: part.name.as_str().into(),
                source,
            })?;
            if read as u64 > MAX_ENTRY {
                let error = PublishedError::Archive {
                    name: part.name.clone(),
                    reason: format!("it has more than {MAX_ENTRY} bytes"),
                };
                return Err(error.into());
            }
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            resources(text, layout == Layout::FhirLines, &part.name, each)
        }
    })
}

fn resources(text: &str, lines: bool, name: &str, each: &mut dyn FnMut(Resource)) -> Result<(), TerminologyError> {
    let malformed = |source| TerminologyError::Malformed {
        path: name.into(),
        source,
    };
    if lines {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        lines
            .try_for_each(|line| raw::each_resource(line, each))
            .map_err(malformed)
    } else {
        // The layout was recognized from the first bytes of the file. If the first line is longer than these bytes,
        // NDJSON looked like a single JSON document. So accept several documents here.
        serde_json::Deserializer::from_str(text)
            .into_iter::<&RawValue>()
            .try_for_each(|document| raw::each_resource(document?.get(), each))
            .map_err(malformed)
    }
}

/// Calls `each` with the resources in the JSON files of a package. Skips its description, its index, and files that are
/// too large.
fn package(reader: &mut dyn BufRead, name: &str, each: &mut dyn FnMut(Resource)) -> Result<(), TerminologyError> {
    let fail = |error: std::io::Error| PublishedError::Archive {
        name: name.to_string(),
        reason: error.to_string(),
    };
    let mut archive = tar::Archive::new(GzDecoder::new(reader));
    for entry in archive.entries().map_err(fail)? {
        let mut entry = entry.map_err(fail)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let file = path.rsplit('/').next().unwrap_or_default();
        if !file.ends_with(".json") || file.starts_with('.') || file == "package.json" || entry.size() > MAX_ENTRY {
            continue;
        }
        let mut text = String::new();
        entry.read_to_string(&mut text).map_err(fail)?;
        // Parse only files that may have a CodeSystem or ValueSet. Other JSON files of a package need not be resources.
        if text.contains("\"CodeSystem\"") || text.contains("\"ValueSet\"") {
            resources(&text, false, &format!("{name}: {path}"), each)?;
        }
    }
    Ok(())
}
