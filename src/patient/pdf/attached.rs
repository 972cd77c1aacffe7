//! Documents that are attached to records: where each is, and getting its bytes.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use rustc_hash::FxHashMap;

use super::resource::Resource;
use crate::lake::json::{Tape, Value};
use crate::patient::{Record, words};
use crate::pdf::Attachment;

/// Base64 as sources write it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes of an attachment.
#[derive(Debug, Clone)]
pub struct Attached {
    /// The media type they are stored with, if one is known.
    pub content_type: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why the bytes at an address could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The service does not hold them; they stayed at the source.
    #[error("the document is not held here; it is at its source")]
    NotHeld,
    /// They are held and could not be read.
    #[error("the document could not be read")]
    Unreadable,
}

/// The bytes behind the addresses that records name. They were read for the very caller who gets the document.
#[derive(Clone, Debug, Default)]
pub struct Attachments(FxHashMap<String, Result<Attached, FetchError>>);

impl Attachments {
    /// Adds what was found at an address.
    pub fn insert(&mut self, url: String, found: Result<Attached, FetchError>) {
        self.0.insert(url, found);
    }

    fn get(&self, url: &str) -> Result<Attached, FetchError> {
        self.0.get(url).cloned().unwrap_or(Err(FetchError::NotHeld))
    }
}

impl FromIterator<(String, Result<Attached, FetchError>)> for Attachments {
    fn from_iter<I: IntoIterator<Item = (String, Result<Attached, FetchError>)>>(found: I) -> Self {
        Self(found.into_iter().collect())
    }
}

impl IntoIterator for Attachments {
    type Item = (String, Result<Attached, FetchError>);
    type IntoIter = std::collections::hash_map::IntoIter<String, Result<Attached, FetchError>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The addresses of documents that records name and do not have inside, each once.
pub fn addresses(record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let mut tape = Tape::new();
    for (ty, row) in record
        .types
        .iter()
        .flat_map(|gathered| gathered.rows.iter().map(|row| (gathered.ty, row)))
    {
        let Some(resource) = Resource::read(ty, &row.resource, &mut tape) else {
            continue;
        };
        let urls = of(&resource).into_iter().filter(|named| named.inline().is_none());
        found.extend(urls.filter_map(|named| named.url));
    }
    found.sort();
    found.dedup();
    found
}

/// A document that a record names.
#[derive(Debug)]
pub(super) struct Named<'t> {
    /// What it is called.
    pub(super) title: String,
    content_type: Option<String>,
    url: Option<String>,
    data: Option<Value<'t>>,
}

/// What became of getting a document.
pub(super) enum Got {
    Here(Attachment),
    /// Not had, and why; an attachment without bytes stands for it.
    Missing(Attachment, FetchError),
}

/// The documents that a resource names, in their order.
pub(super) fn of<'t>(resource: &Resource<'t>) -> Vec<Named<'t>> {
    let list = |name: &str| resource.get(name).into_iter().flat_map(|list| list.items());
    let elements: Vec<Value<'t>> = match resource.type_name {
        "DocumentReference" => list("content")
            .filter_map(|content| content.get("attachment"))
            .collect(),
        "DiagnosticReport" => list("presentedForm").collect(),
        "Media" => resource.get("content").into_iter().collect(),
        "Communication" => list("payload")
            .filter_map(|payload| payload.get("contentAttachment"))
            .collect(),
        "Consent" => resource.get("sourceAttachment").into_iter().collect(),
        "Patient" | "RelatedPerson" => list("photo").collect(),
        _ => Vec::new(),
    };
    let own = words::text(resource.get("description")).or_else(|| words::concepts(resource.get("type")));
    let own = own.or_else(|| words::concepts(resource.get("code")));
    let titled = elements.into_iter().map(|element| {
        let title = words::text(element.get("title")).or_else(|| own.clone());
        Named {
            title: title.unwrap_or_else(|| resource.type_name.to_owned()),
            content_type: words::text(element.get("contentType")),
            url: words::text(element.get("url")),
            data: element.get("data"),
        }
    });
    titled.collect()
}

impl<'t> Named<'t> {
    /// The base64 text inside of the record.
    fn inline(&self) -> Option<Cow<'t, str>> {
        self.data?.as_str().filter(|data| !data.trim().is_empty())
    }

    /// Gets the bytes: those inside of the record first, else those at its address.
    pub(super) fn get(&self, attachments: &Attachments) -> Got {
        let attachment = |content_type: Option<String>, bytes: Vec<u8>| Attachment {
            title: self.title.clone(),
            content_type,
            url: self.url.clone(),
            bytes,
        };
        if let Some(data) = self.inline() {
            let packed: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            return match LENIENT.decode(packed) {
                Ok(bytes) => Got::Here(attachment(self.content_type.clone(), bytes)),
                Err(_) => Got::Missing(
                    attachment(self.content_type.clone(), Vec::new()),
                    FetchError::Unreadable,
                ),
            };
        }
        let found = match &self.url {
            Some(url) => attachments.get(url),
            None => Err(FetchError::NotHeld),
        };
        match found {
            Ok(attached) => {
                let content_type = self.content_type.clone().or(attached.content_type);
                Got::Here(attachment(content_type, attached.bytes))
            }
            Err(error) => Got::Missing(attachment(self.content_type.clone(), Vec::new()), error),
        }
    }
}
