//! Binaries: extracts their bytes from JSON answers, and builds the record for a fetched file.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::json;

use super::attachment::{Fetched, Wanted};

/// The media type of bytes whose type is unknown.
const UNKNOWN: &str = "application/octet-stream";
/// The maximum length of a media type in bytes.
const LONGEST: usize = 200;
/// Sources differ in how they pad base64, so any padding is accepted.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What a JSON text contains.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sync) enum Json {
    /// A Binary with these bytes.
    Binary {
        bytes: Vec<u8>,
        content_type: Option<String>,
    },
    /// An OperationOutcome, or a Binary without valid bytes.
    Nothing,
    /// Other JSON, which is the attachment itself.
    Other,
}

#[derive(Deserialize)]
struct Document<'d> {
    #[serde(rename = "resourceType", borrow)]
    resource_type: Option<Cow<'d, str>>,
    #[serde(rename = "contentType", borrow)]
    content_type: Option<Cow<'d, str>>,
    #[serde(borrow)]
    data: Option<Cow<'d, str>>,
}

/// Finds out what a JSON text contains.
pub(in crate::sync) fn of_json(text: &[u8]) -> Json {
    let Ok(document) = serde_json::from_slice::<Document<'_>>(text) else {
        return Json::Other;
    };
    match document.resource_type.as_deref() {
        Some("OperationOutcome") => return Json::Nothing,
        Some("Binary") => {}
        _ => return Json::Other,
    }
    let Some(data) = document.data else {
        return Json::Nothing;
    };
    let data = if data.contains(|c: char| c.is_ascii_whitespace()) {
        Cow::Owned(data.replace(|c: char| c.is_ascii_whitespace(), ""))
    } else {
        data
    };
    match LENIENT.decode(data.as_bytes()) {
        Ok(bytes) => Json::Binary {
            bytes,
            content_type: document.content_type.map(Cow::into_owned),
        },
        Err(_) => Json::Nothing,
    }
}

/// Returns the media type of the bytes: the answer's type (`answered`) or, if that is missing, invalid or `UNKNOWN`,
/// the type that the record states (`said`). If neither can be used, returns `UNKNOWN`.
pub(super) fn content_type(answered: Option<&str>, said: Option<&str>) -> String {
    let known = |text: &&str| is_media_type(text) && !text.starts_with(UNKNOWN);
    let (answered, said) = (answered.map(str::trim), said.map(str::trim));
    let chosen = answered.filter(known).or(said.filter(known)).unwrap_or(UNKNOWN);
    chosen.to_owned()
}

/// Whether a text can be a media type in a header.
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let is_token = |part: &str| {
        let admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        !part.is_empty() && part.bytes().all(admitted)
    };
    text.len() <= LONGEST
        && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && essence
            .split_once('/')
            .is_some_and(|(one, other)| is_token(one) && is_token(other))
}

/// Returns the record for a fetched file: a Binary without data, as a line of NDJSON.
pub(super) fn line(wanted: &Wanted, fetched: &Fetched, source_patient: &str) -> String {
    let record = wanted.records.first().map_or("", String::as_str);
    let context = match record.split_once('/') {
        Some((_, id)) if !id.is_empty() => record.to_owned(),
        _ => format!("Patient/{source_patient}"),
    };
    json!({
        "resourceType": "Binary",
        "id": wanted.source_id,
        "contentType": fetched.content_type,
        "securityContext": {"reference": context},
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_taken_out_of_json() {
        let of = |text: &str| of_json(text.as_bytes());
        let binary = |bytes: &[u8], content_type: Option<&str>| Json::Binary {
            bytes: bytes.to_vec(),
            content_type: content_type.map(str::to_owned),
        };
        assert_eq!(
            of(r#"{"resourceType":"Binary","contentType":"text\/plain","data":"aG\nk="}"#),
            binary(b"hi", Some("text/plain"))
        );
        assert_eq!(of(r#"{"resourceType":"Binary","data":"aGk"}"#), binary(b"hi", None));
        for nothing in [
            r#"{"resourceType":"Binary","contentType":"text/plain"}"#,
            r#"{"resourceType":"Binary","data":"?"}"#,
            r#"{"resourceType":"OperationOutcome"}"#,
        ] {
            assert_eq!(of(nothing), Json::Nothing, "{nothing}");
        }
        for other in [
            r#"{"resourceType":"Bundle","entry":[]}"#,
            r#"{"a":1}"#,
            "[1]",
            "no JSON",
        ] {
            assert_eq!(of(other), Json::Other, "{other}");
        }
    }

    #[test]
    fn a_media_type_is_that_of_the_answer_unless_it_says_nothing() {
        for (answered, said, expected) in [
            (Some("application/pdf"), Some("text/plain"), "application/pdf"),
            (Some("text/html; charset=utf-8"), None, "text/html; charset=utf-8"),
            (Some("application/octet-stream"), Some("image/png"), "image/png"),
            (None, Some(" application/pdf "), "application/pdf"),
            (Some("no type"), Some("a/b\r\nX: y"), UNKNOWN),
            (None, None, UNKNOWN),
        ] {
            assert_eq!(content_type(answered, said), expected);
        }
    }
}
