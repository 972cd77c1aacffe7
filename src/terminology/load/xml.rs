//! Reads tables that are written as XML.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use quick_xml::events::Event;
use quick_xml::reader::Reader;

use crate::published::{PublishedError, decode};

/// The maximum number of bytes of a table. CDC's tables have less than 1 MiB.
const MAX_TABLE: u64 = 64 << 20;

/// Returns a map for each element named `row`: the values of its fields by the names of the fields. A field is a child
/// element, or a pair of the elements `Name` and `Value`. The names are in lower case and have only letters and digits.
pub(super) fn rows(
    reader: &mut dyn BufRead,
    name: &str,
    row: &str,
) -> Result<Vec<HashMap<String, String>>, PublishedError> {
    let fail = |reason: String| PublishedError::Archive {
        name: name.to_string(),
        reason,
    };
    let mut content = Vec::new();
    let read = reader.take(MAX_TABLE + 1).read_to_end(&mut content);
    let read = read.map_err(|source| PublishedError::Unreadable {
        path: name.into(),
        source,
    })?;
    if read as u64 > MAX_TABLE {
        let line = 1 + content.iter().filter(|byte| **byte == b'\n').count() as u64;
        return Err(PublishedError::Line {
            name: name.to_string(),
            line,
            expected: format!("the end of a table of less than {} MiB", MAX_TABLE >> 20),
        });
    }
    let content = decode(&content);
    let mut reader = Reader::from_str(&content);
    let mut rows = Vec::new();
    let mut fields: Option<HashMap<String, String>> = None;
    let (mut text, mut paired) = (String::new(), None);
    loop {
        match reader.read_event().map_err(|error| fail(error.to_string()))? {
            Event::Eof if fields.is_some() => return Err(fail(format!("it ends within {row}"))),
            Event::Eof => return Ok(rows),
            Event::Start(start) => {
                text.clear();
                if plain(start.local_name().as_ref()) == row.to_ascii_lowercase() {
                    fields = Some(HashMap::new());
                }
            }
            Event::Text(part) => text.push_str(&part),
            Event::CData(part) => text.push_str(&part),
            Event::GeneralRef(reference) => text.push_str(&entity(&reference)),
            Event::End(end) => {
                let ended = plain(end.local_name().as_ref());
                if ended == row.to_ascii_lowercase() {
                    rows.extend(fields.take());
                } else if let Some(fields) = &mut fields {
                    let value = text.trim().to_string();
                    match ended.as_str() {
                        "name" => paired = Some(plain(&value)),
                        "value" => {
                            let named = paired.take();
                            fields.insert(named.unwrap_or(ended), value);
                        }
                        _ => {
                            fields.insert(ended, value);
                        }
                    }
                }
                text.clear();
            }
            _ => {}
        }
    }
}

/// Returns a name in lower case, with letters and digits only.
fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase()
}

fn entity(name: &str) -> String {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let sign = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match (name.strip_prefix("#x"), name.strip_prefix('#')) {
            (Some(digits), _) => number(digits, 16),
            (None, Some(digits)) => number(digits, 10),
            _ => None,
        },
    };
    sign.map_or_else(|| format!("&{name};"), String::from)
}
