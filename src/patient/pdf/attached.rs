//! Documents attached to records: finds their addresses and gets their bytes.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::typed;
use crate::columns::json::{Tape, Value};
use crate::fhir::{TypeId, facts};
use crate::patient::{Record, words};
use crate::pdf::Attachment;

/// A base64 decoder for the variants that sources send: with or without padding, and with unused bits that are not
/// zero.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes of an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The media type that is stored with the bytes or that the source sent, if any.
    pub content_type: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why the bytes at an address are not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum FetchError {
    /// The service does not hold the document and did not ask its source for it.
    #[error("the document is not held here; it is at its source")]
    NotHeld,
    /// The service has the document, but its bytes could not be read or decoded.
    #[error("the document could not be read")]
    Unreadable,
    /// The document is too large: it has this many bytes, more than the export may still add.
    #[error("this file has no room for the document, which is of {0} bytes")]
    NoRoom(u64),
    /// The source was asked for the document and did not deliver it. The reason contains no address.
    #[error("the source did not give the document: {0}")]
    NotGiven(String),
}

impl FetchError {
    /// Whether the pages lack a document that they should have. A document that only its source holds is no loss:
    /// the pages show its address.
    pub(super) fn is_loss(&self) -> bool {
        !matches!(self, FetchError::NotHeld)
    }
}

/// Provides the documents at the addresses in records. It must return only what the recipient of the pages may see.
pub trait Documents {
    /// Returns the document at an address. Fails if the document has more than `room` bytes.
    fn get(&self, url: &str, room: u64) -> Result<Attached, FetchError>;
}

/// A provider without documents.
impl Documents for () {
    fn get(&self, _: &str, _: u64) -> Result<Attached, FetchError> {
        Err(FetchError::NotHeld)
    }
}

/// Decodes base64 with or without padding and line breaks. `None` if the text is not base64.
fn decoded(data: &str) -> Option<Vec<u8>> {
    let packed: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    LENIENT.decode(packed).ok()
}

/// Returns a lower bound of the decoded length of a base64 text.
fn decoded_length(data: &str) -> u64 {
    let blank = data
        .bytes()
        .filter(|byte| byte.is_ascii_whitespace() || *byte == b'=')
        .count();
    (data.len() - blank) as u64 / 4 * 3
}

/// Returns the number of bytes to which a base64 text decodes. `None` if it has a character that is not of base64.
pub(super) fn size(data: &str) -> Option<usize> {
    let is_filler = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'=';
    let mut digits = 0;
    for byte in data.bytes().filter(|byte| !is_filler(byte)) {
        if !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'/') {
            return None;
        }
        digits += 1;
    }
    Some(digits * 3 / 4)
}

/// Returns the addresses of documents whose bytes are not inside the records themselves, sorted and without duplicates.
pub fn addresses(record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let mut tape = Tape::new();
    let rows = record
        .types
        .iter()
        .flat_map(|gathered| gathered.rows.iter().map(|row| (gathered.type_id, row)));
    for (type_id, row) in rows {
        let Ok(resource) = tape.parse(&row.resource) else {
            continue;
        };
        let urls = of(type_id, resource)
            .into_iter()
            .filter(|named| named.url.is_some() && named.inline().is_none_or(|data| decoded(&data).is_none()));
        found.extend(urls.filter_map(|named| named.url));
    }
    found.sort();
    found.dedup();
    found
}

/// An Attachment element of a record.
#[derive(Debug)]
pub(super) struct Named<'t> {
    /// The title to show: the element's own, or a substitute from the record.
    pub(super) title: String,
    content_type: Option<String>,
    pub(super) url: Option<String>,
    data: Option<Value<'t>>,
}

/// The result of getting a document.
pub(super) enum Got {
    Here(Attachment),
    /// The document could not be obtained, for this reason. The attachment has no bytes, with one exception: if the
    /// record has `data` that is not base64 and not longer than the limit `room`, the bytes are this `data`, unchanged.
    Missing(Attachment, FetchError),
}

/// Returns the documents that a resource names, in order: all its Attachment elements.
pub(super) fn of(type_id: TypeId, resource: Value<'_>) -> Vec<Named<'_>> {
    let mut named = Vec::new();
    let text = resource.raw().as_bytes();
    // Most resources have none of these properties. Then do not walk over their elements.
    let may_have = ["\"url\"", "\"data\"", "\"contentType\""]
        .iter()
        .any(|property| memmem::find(text, property.as_bytes()).is_some());
    let Some(attachment) = facts().lookup("Attachment").filter(|_| may_have) else {
        return named;
    };
    let own = words::text(resource.get("description")).or_else(|| words::concepts(resource.get("type")));
    let own = own.or_else(|| words::concepts(resource.get("code")));
    typed::each(resource, type_id, attachment, None, &mut |element, question| {
        let title = words::text(element.get("title"))
            .or_else(|| words::text(question))
            .or_else(|| own.clone());
        named.push(Named {
            title: title.unwrap_or_else(|| facts().get(type_id).name.to_owned()),
            content_type: words::text(element.get("contentType")),
            url: words::text(element.get("url")),
            data: element.get("data"),
        });
    });
    named
}

impl<'t> Named<'t> {
    /// Returns the base64 text in the record. `None` if it is missing or blank.
    fn inline(&self) -> Option<Cow<'t, str>> {
        self.data?.as_str().filter(|data| !data.trim().is_empty())
    }

    /// Returns a lower bound of the number of bytes inside of the record.
    pub(super) fn inline_length(&self) -> u64 {
        self.inline().map_or(0, |data| decoded_length(&data))
    }

    /// Gets the bytes from the `data` of the record. If there is no `data`, or if it is not base64, gets them from the
    /// address. If the address does not give them either, returns [`Got::Missing`]. Its bytes are then the `data` that
    /// is not base64.
    pub(super) fn get(&self, documents: &dyn Documents, room: u64) -> Got {
        let attachment = |content_type: Option<String>, bytes: Vec<u8>| Attachment {
            title: self.title.clone(),
            content_type,
            url: self.url.clone(),
            bytes,
        };
        let mut kept = Vec::new();
        let found = match (self.inline(), &self.url) {
            (Some(data), url) => inside(&data, room).or_else(|error| {
                let url = url.as_ref().filter(|_| error == FetchError::Unreadable);
                let fetched = url.and_then(|url| documents.get(url, room).ok());
                if fetched.is_none() && error == FetchError::Unreadable && data.len() as u64 <= room {
                    kept = data.into_owned().into_bytes();
                }
                fetched.ok_or(error)
            }),
            (None, Some(url)) => documents.get(url, room),
            (None, None) => Err(FetchError::NotHeld),
        };
        match found {
            Ok(attached) => {
                let content_type = self.content_type.clone().or(attached.content_type);
                Got::Here(attachment(content_type, attached.bytes))
            }
            Err(error) => Got::Missing(attachment(self.content_type.clone(), kept), error),
        }
    }
}

/// Decodes a base64 text of a resource. Fails if it decodes to more than `room` bytes.
pub(super) fn inside(data: &str, room: u64) -> Result<Attached, FetchError> {
    let length = decoded_length(data);
    if length > room {
        return Err(FetchError::NoRoom(length));
    }
    let bytes = decoded(data).ok_or(FetchError::Unreadable)?;
    Ok(Attached {
        content_type: None,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_are_found_wherever_a_resource_has_them() {
        let titles = |type_name: &str, text: &str| -> Vec<String> {
            let mut tape = Tape::new();
            let named = of(facts().lookup(type_name).unwrap(), tape.parse(text.as_bytes()).unwrap());
            named.into_iter().map(|named| named.title).collect()
        };
        let answered = r#"{"item":[{"text":"Scans","item":[{"text":"Your card","answer":[
            {"valueAttachment":{"data":"aGk="}},{"valueAttachment":{"title":"Back","url":"Binary/1"}}]}]}]}"#;
        assert_eq!(titles("QuestionnaireResponse", answered), ["Your card", "Back"]);
        let report = r#"{"code":{"text":"CT"},"presentedForm":[{"url":"Binary/1"}],
            "contained":[{"resourceType":"Media","content":{"title":"Slice","data":"aGk="}}]}"#;
        assert_eq!(titles("DiagnosticReport", report), ["CT", "Slice"]);
        assert!(titles("Patient", r#"{"extension":[{"url":"http://x","valueString":"y"}]}"#).is_empty());
    }

    #[test]
    fn the_size_of_a_text_is_that_of_its_bytes() {
        for data in ["", "aA==", "aGk=", "aGVs", "aGVsbG8=", "aGVs\r\nbG8=\n", "aGVsbG8"] {
            assert_eq!(size(data), decoded(data).map(|bytes| bytes.len()), "{data}");
        }
        assert_eq!(size("not, base64"), None);
    }

    #[test]
    fn texts_inside_of_records_are_read_as_sources_write_them() {
        let bytes = |data: &str, room: u64| inside(data, room).map(|attached| attached.bytes);
        for data in ["aGVsbG8=", "aGVsbG8", "aGVs\r\nbG8=\n"] {
            assert_eq!(bytes(data, 5), Ok(b"hello".to_vec()), "{data}");
        }
        assert_eq!(bytes("aGVs!", 99), Err(FetchError::Unreadable));
        assert_eq!(bytes("aGVsbG8h", 5), Err(FetchError::NoRoom(6)));
    }
}
