//! The digest of a resource's content: a hash of its stored text without `meta.versionId` and `meta.lastUpdated`,
//! which a commit adds.

use memchr::{memchr, memmem};
use sha2::{Digest, Sha256};

use crate::columns::json::Tape;

/// Returns the digest of a text to which no commit has added a version and a date yet.
pub(crate) fn digest(text: &[u8]) -> [u8; 16] {
    of_parts(&[text])
}

/// Returns the digest of a resource's stored text, without the version and the date that a commit has added.
pub fn stored_digest(resource: &[u8], tape: &mut Tape) -> [u8; 16] {
    of_parts(&content(resource, tape).unwrap_or([resource, b""]))
}

fn of_parts(parts: &[&[u8]]) -> [u8; 16] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.finalize()[..16]);
    digest
}

/// Returns the text before and the text after the values that a commit has added. `None` if it has added none.
fn content<'t>(resource: &'t [u8], tape: &mut Tape) -> Option<[&'t [u8]; 2]> {
    let meta = tape.parse(resource).ok()?.get("meta")?.span();
    let inside = meta.start + 1;
    let rest = after_added(resource.get(inside..meta.end)?)?;
    match rest.split_first()? {
        (b',', _) => Some([&resource[..inside], &resource[meta.end - rest.len() + 1..]]),
        (b'}', []) => {
            let before = resource[..meta.start].strip_suffix(b",\"meta\":")?;
            Some([before, &resource[meta.end..]])
        }
        _ => None,
    }
}

/// Returns the rest of a `meta` after the version and the date that a commit has added at its begin. `None` if it has
/// added none.
fn after_added(meta: &[u8]) -> Option<&[u8]> {
    let version = meta.strip_prefix(b"\"versionId\":\"")?;
    let date = version[memchr(b'"', version)?..].strip_prefix(b"\",\"lastUpdated\":\"")?;
    Some(&date[memchr(b'"', date)? + 1..])
}

/// Returns a resource's stored text with another version and date in the place of those that a commit has added. `None`
/// if it has added none.
pub(in crate::lake) fn restamped(resource: &str, (version, date): (i64, &str), tape: &mut Tape) -> Option<String> {
    let meta = tape.parse(resource.as_bytes()).ok()?.get("meta")?.span();
    let inside = meta.start + 1;
    let rest = after_added(resource.as_bytes().get(inside..)?)?.len();
    let (before, after) = (resource.get(..inside)?, resource.get(resource.len() - rest..)?);
    Some(format!(
        r#"{before}"versionId":"{version}","lastUpdated":"{date}"{after}"#
    ))
}

/// Whether this is the id of a blank row, which an erasure has put in the place of an erased row. A blank row repeats
/// the digest of a neighbour, so its digest is not that of its own text and must not be compared with it.
pub(in crate::lake) fn is_blank(id: &str) -> bool {
    id.is_empty() || memmem::find(id.as_bytes(), b"!").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_date_do_not_count() {
        let mut tape = Tape::new();
        for (content, stored) in [
            (
                r#"{"resourceType":"Patient","id":"a","active":true}"#,
                r#"{"resourceType":"Patient","id":"a","meta":{"versionId":"3","lastUpdated":"2024-01-01T00:00:00.000Z"},"active":true}"#,
            ),
            (
                r#"{"resourceType":"Patient","meta":{"tag":[{"code":"}"}]},"id":"a"}"#,
                r#"{"resourceType":"Patient","meta":{"versionId":"12","lastUpdated":"2024-01-01T00:00:00Z","tag":[{"code":"}"}]},"id":"a"}"#,
            ),
        ] {
            let digest = digest(content.as_bytes());
            assert_eq!(stored_digest(stored.as_bytes(), &mut tape), digest, "{stored}");
            let other = stored.replace("Patient", "Patienz");
            assert_ne!(stored_digest(other.as_bytes(), &mut tape), digest, "{other}");
            let again = restamped(stored, (99, "2025-02-03T04:05:06.789Z"), &mut tape).unwrap();
            assert!(again.contains(r#""meta":{"versionId":"99","lastUpdated":"2025-02-03T04:05:06.789Z""#));
            assert_eq!(stored_digest(again.as_bytes(), &mut tape), digest, "{again}");
            assert!(restamped(content, (99, "2025"), &mut tape).is_none());
        }
        for other in [
            "{}",
            "[",
            r#"{"meta":{}}"#,
            r#"{"id":"a","meta":{"versionId":"1","lastUpdated":"#,
        ] {
            assert_eq!(
                stored_digest(other.as_bytes(), &mut tape),
                digest(other.as_bytes()),
                "{other}"
            );
        }
    }
}
