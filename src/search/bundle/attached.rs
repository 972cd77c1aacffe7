//! The addresses of attachments. A stored resource has relative addresses (`Binary/{id}`), so it stays correct if the
//! address of the service changes. Clients get absolute addresses, as R4's type `url` requires.

use bytes::Bytes;
use memchr::memmem;

/// The text before the id in a relative address, as stored resources have it. They have no white space between JSON
/// tokens.
const RELATIVE: &[u8] = br#""url":"Binary/"#;
/// The length of the id in bytes. After the id comes the end of the JSON string.
const ID: usize = uuid::fmt::Hyphenated::LENGTH;

/// Returns a resource's text with `base` inserted before each relative address of an attachment. `base` ends with a
/// slash. Returns `None` if the text has no such address.
pub fn with_base(text: &[u8], base: &str) -> Option<Bytes> {
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
        done = begin;
    }
    out.extend_from_slice(&text[done..]);
    Some(Bytes::from(out))
}

/// Returns an address in the form that stored resources have. Clients send the address of an attachment as answers show
/// it, with `base`. So `base` is removed from such an address. Any other address is returned unchanged.
pub(in crate::search) fn stored_form(address: String, base: &str) -> String {
    let relative = address.strip_prefix(base);
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
}
