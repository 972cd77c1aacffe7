//! The addresses of attachments. A stored resource has relative addresses (`Binary/{id}`), so it stays correct if the
//! address of the service changes. Clients get absolute addresses, as R4's type `url` requires.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use memchr::memmem;
use serde::Deserialize;

/// The text before the id in a relative address, as stored resources have it. They have no white space between JSON
/// tokens.
const RELATIVE: &[u8] = br#""url":"Binary/"#;
/// The length of the id in bytes. After the id comes the end of the JSON string.
const ID: usize = uuid::fmt::Hyphenated::LENGTH;

/// The end of the system of the tag that names a record's authorization.
const AUTHORIZATION_TAG: &str = "/PatientAccessTokenId";

/// Signs the addresses of attachments that a client gets. It gets the id of the record's authorization and that of the
/// attachment, and returns the query of the address, without `?`. `None` leaves the address unsigned.
#[derive(Clone)]
pub struct AddressSigner(Signing);

type Signing = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

impl AddressSigner {
    /// Creates a signer.
    pub fn new(sign: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static) -> AddressSigner {
        AddressSigner(Arc::new(sign))
    }
}

impl fmt::Debug for AddressSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressSigner")
    }
}

/// Returns a resource's text with the addresses of its attachments as the client gets them: with `base`, and signed if
/// there is a signer. `text` is the whole resource or the requested part of it. `whole` is the whole resource, whose
/// tags name its authorization. Returns `None` if the text has no such address.
pub fn with_addresses(text: &[u8], whole: &[u8], base: &str, signer: Option<&AddressSigner>) -> Option<Bytes> {
    let Some(AddressSigner(sign)) = signer else {
        return with_base(text, base);
    };
    memmem::find(text, RELATIVE)?;
    let Some(authorization) = authorization(whole) else {
        return with_base(text, base);
    };
    addressed(text, base, |id| sign(&authorization, id))
}

/// Returns the authorization that a record's tags name. The service's own tags come after those of the source.
fn authorization(whole: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Tagged {
        meta: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        tag: Vec<Tag>,
    }
    #[derive(Deserialize)]
    struct Tag {
        system: Option<String>,
        code: Option<String>,
    }
    let Tagged { meta } = serde_json::from_slice(whole).ok()?;
    let is_ours = |tag: &Tag| {
        tag.system
            .as_deref()
            .is_some_and(|system| system.ends_with(AUTHORIZATION_TAG))
    };
    meta.tag.into_iter().rev().find(is_ours)?.code
}

/// Returns a resource's text with `base` inserted before each relative address of an attachment. `base` ends with a
/// slash. Returns `None` if the text has no such address.
pub fn with_base(text: &[u8], base: &str) -> Option<Bytes> {
    addressed(text, base, |_| None)
}

/// Inserts `base` before each relative address of an attachment, and after it the query that `query` returns for the
/// attachment's id.
fn addressed(text: &[u8], base: &str, query: impl Fn(&str) -> Option<String>) -> Option<Bytes> {
    let mut found = memmem::find_iter(text, RELATIVE)
        .filter(|at| is_ours(&text[at + RELATIVE.len()..]))
        .peekable();
    found.peek()?;
    let mut out = Vec::with_capacity(text.len() + 4 * base.len());
    let mut done = 0;
    for at in found {
        // The base is inserted after the opening quotation mark of the JSON string.
        let begin = at + RELATIVE.len() - b"Binary/".len();
        out.extend_from_slice(&text[done..begin]);
        out.extend_from_slice(base.as_bytes());
        done = at + RELATIVE.len() + ID;
        out.extend_from_slice(&text[begin..done]);
        let id = std::str::from_utf8(&text[at + RELATIVE.len()..done]).unwrap_or_default();
        if let Some(query) = query(id) {
            // A query has only characters that JSON strings may contain.
            out.push(b'?');
            out.extend_from_slice(query.as_bytes());
        }
    }
    out.extend_from_slice(&text[done..]);
    Some(Bytes::from(out))
}

/// Returns an address in the form that stored resources have. Clients send the address of an attachment as answers show
/// it, with `base` and maybe signed. So `base` and the signature are removed from such an address. Any other address is
/// returned unchanged.
pub(in crate::search) fn stored_form(address: String, base: &str) -> String {
    let relative = address
        .strip_prefix(base)
        .map(|text| text.split('?').next().unwrap_or(text));
    let ours = relative.filter(|text| {
        let id = text
            .strip_prefix("Binary/")
            .and_then(|id| uuid::Uuid::try_parse(id).ok());
        id.is_some_and(|id| id.get_version_num() == 8)
    });
    match ours {
        Some(relative) => relative.to_owned(),
        None => address,
    }
}

/// Whether `rest` begins with an attachment's id and the end of the JSON string. A sync gives an attachment an id in
/// the form of a UUID of version 8.
fn is_ours(rest: &[u8]) -> bool {
    let id = rest.get(..ID).and_then(|id| std::str::from_utf8(id).ok());
    let id = id.and_then(|id| uuid::Uuid::try_parse(id).ok());
    id.is_some_and(|id| id.get_version_num() == 8) && rest.get(ID) == Some(&b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ours_get_the_base() {
        let base = "https://records.example/fhir/";
        let id = "0c3151bd-1cbf-8d64-b04d-cd9187a4c6e0";
        let of = |url: &str| {
            format!(r#"{{"content":[{{"attachment":{{"url":"{url}"}}}},{{"attachment":{{"url":"{url}"}}}}]}}"#)
        };
        let shown = with_base(of(&format!("Binary/{id}")).as_bytes(), base).unwrap();
        assert_eq!(shown, of(&format!("{base}Binary/{id}")));
        assert_eq!(stored_form(format!("{base}Binary/{id}"), base), format!("Binary/{id}"));
        assert_eq!(
            stored_form(format!("{base}Binary/{id}?a=b"), base),
            format!("Binary/{id}")
        );
        for address in [
            "https://payer.example/Binary/x",
            "https://records.example/fhir/Binary/x",
            "urn:x",
        ] {
            assert_eq!(stored_form(address.to_owned(), base), address);
        }
        for other in [
            "Binary/x",
            "https://payer.example/Binary/x",
            &format!("Binary/{id}/_history/1"),
            "Binary/0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0",
        ] {
            assert_eq!(with_base(of(other).as_bytes(), base), None, "{other}");
        }
        let said = format!(r#"{{"text":"\"url\":\"Binary/{id}\""}}"#);
        assert_eq!(with_base(said.as_bytes(), base), None, "it stands inside of a text");
    }
    #[test]
    fn addresses_are_signed_for_the_authorization_of_the_record() {
        let base = "https://records.example/fhir/";
        let id = "0c3151bd-1cbf-8d64-b04d-cd9187a4c6e0";
        let other = "1c3151bd-1cbf-8d64-b04d-cd9187a4c6e0";
        let tag = |system: &str, code: &str| format!(r#"{{"code":"{code}","system":"{system}"}}"#);
        let of = |tags: &str, one: &str, two: &str| {
            format!(r#"{{"meta":{{"tag":[{tags}]}},"a":{{"url":"{one}"}},"b":{{"url":"{two}","title":"t"}}}}"#)
        };
        // A source's own tag comes first.
        let forged = tag("https://else.example/PatientAccessTokenId", "a2");
        let tags = [forged, tag("https://records.example/tags/PatientAccessTokenId", "a1")].join(",");
        let stored = of(&tags, &format!("Binary/{id}"), &format!("Binary/{other}"));
        let signer = AddressSigner::new(move |authorization, attachment| {
            (attachment != other).then(|| format!("by={authorization}&of={attachment}"))
        });
        let shown = |text: &str, whole: &str| with_addresses(text.as_bytes(), whole.as_bytes(), base, Some(&signer));
        let expected = of(
            &tags,
            &format!("{base}Binary/{id}?by=a1&of={id}"),
            &format!("{base}Binary/{other}"),
        );
        assert_eq!(shown(&stored, &stored).unwrap(), expected);
        let part = format!(r#"{{"a":{{"url":"Binary/{id}"}}}}"#);
        assert_eq!(
            shown(&part, &stored).unwrap(),
            format!(r#"{{"a":{{"url":"{base}Binary/{id}?by=a1&of={id}"}}}}"#)
        );
        // A record without an authorization has plain addresses.
        assert_eq!(shown(&part, &part), with_base(part.as_bytes(), base));
        assert_eq!(
            with_addresses(part.as_bytes(), &[], base, None),
            with_base(part.as_bytes(), base)
        );
        assert_eq!(shown("{}", "{}"), None);
    }
}
