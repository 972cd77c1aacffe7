//! Changes the addresses of fetched attachments in records to `Binary/{id}`. R4 reads such an address relative to this
//! service. So a record stays correct when the service's address changes. If an attachment was not fetched, the record
//! has the attachment's absolute address at the source.

use std::collections::BTreeMap;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::super::spool::Spool;
use super::attachment::Fate;
use super::find::{SourceAddress, attachments, each_line, may_have_address};
use crate::columns::json::{Edits, Tape, write_compact};
use crate::lake::scratch::TextFile;

/// Rewrites the records of these files. `id` returns our id of the Binary for an address.
pub(super) fn rewrite(
    spool: &Spool,
    files: &[TextFile],
    place: &SourceAddress,
    fates: &BTreeMap<Url, Fate>,
    id: &dyn Fn(&Url) -> Option<String>,
) -> io::Result<()> {
    let (mut tape, mut edits, mut text) = (Tape::new(), Edits::new(), Vec::new());
    for file in files {
        let mut draft = spool.draft("rewritten")?;
        each_line(file, |line| {
            let rewritten = may_have_address(line)
                && rewrite_line(line, place, fates, id, &mut tape, &mut edits, &mut text).is_some();
            match std::str::from_utf8(&text) {
                Ok(text) if rewritten => draft.line(text),
                _ => draft.line(line),
            }
        })?;
        spool.replace(draft, file)?;
    }
    Ok(())
}

/// Writes a record into `text` if it changes. Returns `None` if it does not.
fn rewrite_line(
    line: &str,
    place: &SourceAddress,
    fates: &BTreeMap<Url, Fate>,
    id: &dyn Fn(&Url) -> Option<String>,
    tape: &mut Tape,
    edits: &mut Edits,
    text: &mut Vec<u8>,
) -> Option<()> {
    edits.clear();
    let root = tape.parse(line.as_bytes()).ok()?;
    attachments(root, &mut |attachment, value| {
        let Some(written) = value.as_str() else { return };
        let Some((url, _)) = place.resolve(&written) else {
            return;
        };
        match fates.get(&url) {
            Some(Fate::Here(facts)) => {
                let Some(id) = id(&url) else { return };
                edits.replace_str(value, &format!("Binary/{id}"));
                let Some((bytes, sha1)) = facts else { return };
                // R4's integers have 32 bits, so a larger size is not written.
                if attachment.get("size").is_none() && *bytes <= i32::MAX as u64 {
                    edits.append(attachment, "size", &bytes.to_string());
                }
                if attachment.get("hash").is_none() {
                    edits.append(attachment, "hash", &format!("\"{}\"", STANDARD.encode(sha1)));
                }
            }
            // Write the absolute address, because a relative one would lead to this service.
            _ if Url::parse(&written).is_err() => edits.replace_str(value, url.as_str()),
            _ => {}
        }
    });
    if edits.is_empty() {
        return None;
    }
    text.clear();
    write_compact(root, text, edits);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::find::tests::place;
    use super::*;

    #[test]
    fn addresses_lead_to_what_is_here_and_keep_all_else() {
        let url = |text: &str| Url::parse(&format!("https://payer.example/fhir/{text}")).unwrap();
        let fates = BTreeMap::from([
            (url("Binary/a"), Fate::Here(Some((5, [1; 20])))),
            (url("Binary/b"), Fate::Here(None)),
            (url("Binary/c"), Fate::Away),
        ]);
        let rewritten = |record: &str| {
            let (mut tape, mut edits, mut text) = (Tape::new(), Edits::new(), Vec::new());
            let id = |url: &Url| Some(format!("id-of-{}", &url.path()["/fhir/Binary/".len()..]));
            rewrite_line(record, &place(), &fates, &id, &mut tape, &mut edits, &mut text)?;
            Some(String::from_utf8(text).unwrap())
        };
        let hash = STANDARD.encode([1; 20]);
        for (attachment, expected) in [
            (
                r#"{"url" : "Binary/a","title":"1.50"}"#,
                format!(r#"{{"url":"Binary/id-of-a","title":"1.50","size":5,"hash":"{hash}"}}"#),
            ),
            (
                r#"{"url":"https:\/\/payer.example/fhir/Binary/a","size":7,"hash":"x"}"#,
                r#"{"url":"Binary/id-of-a","size":7,"hash":"x"}"#.to_owned(),
            ),
            (r#"{"url":"Binary/b"}"#, r#"{"url":"Binary/id-of-b"}"#.to_owned()),
            (
                r#"{"url":"Binary/c"}"#,
                r#"{"url":"https://payer.example/fhir/Binary/c"}"#.to_owned(),
            ),
            (
                r#"{"url":"/elsewhere"}"#,
                r#"{"url":"https://payer.example/elsewhere"}"#.to_owned(),
            ),
        ] {
            let of = |attachment: &str| format!(r#"{{"resourceType":"Media","id":"m","content":{attachment}}}"#);
            assert_eq!(rewritten(&of(attachment)), Some(of(&expected)));
        }
        for same in [
            "https://payer.example/fhir/Binary/c",
            "https://other.example/x",
            "#contained",
            "",
        ] {
            let record = format!(r#"{{"resourceType":"Media","id":"m","content":{{"url":"{same}"}}}}"#);
            assert_eq!(rewritten(&record), None, "{same}");
        }
    }
}
