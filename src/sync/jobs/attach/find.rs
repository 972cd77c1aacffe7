//! Finds the attachments and Binaries to which records refer: all Attachments with an address in the source's realm,
//! and all references to Binaries.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};

use memchr::memmem;
use sha2::{Digest, Sha256};
use url::Url;

use super::super::plan::encoded;
use super::super::search::references;
use super::super::source::Source;
use super::attachment::{Wanted, hexadecimal};
use crate::columns::json::{Tape, Value};
use crate::fhir::{TypeId, facts};
use crate::ingest::{SourceBase, source_target};
use crate::lake::scratch::TextFile;
use crate::sync::client::Realm;

/// The maximum length of an address in bytes.
const LONGEST: usize = 4_096;

/// The FHIR base and the realm of a source, with which addresses in its records are resolved.
#[derive(Clone)]
pub(super) struct SourceAddress {
    base: SourceBase,
    /// The FHIR base with a trailing slash.
    root: Url,
    realm: Realm,
}

impl SourceAddress {
    pub(super) fn of(base: &SourceBase, source: &Source) -> Result<SourceAddress, url::ParseError> {
        SourceAddress::at(base.clone(), source.realm().clone())
    }

    fn at(base: SourceBase, realm: Realm) -> Result<SourceAddress, url::ParseError> {
        Ok(SourceAddress {
            root: Url::parse(base.as_str())?,
            base,
            realm,
        })
    }

    /// Resolves an address. As R4 defines, a relative address starts from the FHIR base. Also returns whether the
    /// address belongs to the source.
    pub(super) fn resolve(&self, text: &str) -> Option<(Url, bool)> {
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST || text.starts_with('#') {
            return None;
        }
        let mut url = self.root.join(text).ok()?;
        url.set_fragment(None);
        match self.realm.own(&url).or_else(|| self.base.own(&url)) {
            Some(own) => Some((own, true)),
            None => Some((url, false)),
        }
    }

    /// Returns the source's id for the content of an address. If this is the address of a Binary, returns the id of the
    /// Binary. Otherwise returns an id that is derived from the address.
    fn source_id(&self, url: &Url) -> String {
        let named = || {
            let path = url.path().strip_prefix(self.root.path())?;
            let target = source_target(path)?;
            let plain =
                url.query().is_none() && target.version.is_none() && facts().get(target.type_id).name == "Binary";
            plain.then(|| target.id.to_owned())
        };
        named().unwrap_or_else(|| format!("url-{}", &hexadecimal(&Sha256::digest(url.as_str()))[..40]))
    }

    fn binary(&self, id: &str) -> Option<Url> {
        Url::parse(&format!("{}Binary/{}", self.root, encoded(id))).ok()
    }
}

/// The attachments that were found in records.
#[derive(Default)]
pub(super) struct Found {
    pub(super) wanted: BTreeMap<Url, Wanted>,
    /// The ids of Binaries whose own records contain their bytes.
    pub(super) inline: BTreeSet<String>,
    /// The files with records that have Attachments with an address.
    pub(super) in_files: Vec<TextFile>,
}

impl Found {
    /// Whether there is nothing to fetch or to change.
    pub(super) fn is_empty(&self) -> bool {
        self.in_files.is_empty() && self.wanted.is_empty()
    }
}

/// Searches files of records for attachments and for references to Binaries.
pub(super) fn find(files: &[TextFile], place: &SourceAddress) -> io::Result<Found> {
    let mut found = Found::default();
    let mut tape = Tape::new();
    for file in files {
        let mut any = false;
        each_line(file, |line| {
            any |= look(line, place, &mut tape, &mut found);
            Ok(())
        })?;
        if any {
            found.in_files.push(file.clone());
        }
    }
    Ok(found)
}

/// Calls `visit` for each line of a file, without its line break.
pub(super) fn each_line(file: &TextFile, mut visit: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 << 10, file.open()?);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        visit(line.trim_end_matches('\n'))?;
        line.clear();
    }
    Ok(())
}

/// Whether a record may contain an attachment with an address.
pub(super) fn may_have_address(line: &str) -> bool {
    memmem::find(line.as_bytes(), b"\"url\"").is_some()
}

fn look(line: &str, place: &SourceAddress, tape: &mut Tape, found: &mut Found) -> bool {
    let refers = memmem::find(line.as_bytes(), b"Binary").is_some();
    if !refers && !may_have_address(line) {
        return false;
    }
    // Invalid JSON is refused later, when the records are stored.
    let Ok(root) = tape.parse(line.as_bytes()) else {
        return false;
    };
    let record = name_of(root);
    if let Some(id) = record.strip_prefix("Binary/") {
        if root.get("data").is_some_and(|data| data.is_string()) {
            found.inline.insert(id.to_owned());
        }
        return false;
    }
    let version = version_of(root, line);
    let mut any = false;
    let mut note = |url: Url, source_id: String, content_type: Option<String>, said: &str| {
        let wanted = found.wanted.entry(url).or_insert_with(|| Wanted {
            source_id,
            ..Wanted::default()
        });
        if wanted.records.last() != Some(&record) {
            wanted.records.push(record.clone());
        }
        if wanted.content_type.is_none() {
            wanted.content_type = content_type;
        }
        let mut hasher = Sha256::new();
        for text in [record.as_str(), version.as_str(), said] {
            hasher.update(text);
            hasher.update([0xff]);
        }
        wanted.said.insert(hasher.finalize().into());
    };
    attachments(root, &mut |attachment, url| {
        any = true;
        let Some((url, true)) = url.as_str().and_then(|text| place.resolve(&text)) else {
            return;
        };
        let content_type = attachment.get_str("contentType").map(|text| text.into_owned());
        let source_id = place.source_id(&url);
        note(url, source_id, content_type, attachment.raw());
    });
    if refers {
        references(line, &place.base, |type_id, id| {
            if facts().get(type_id).name == "Binary"
                && let Some(url) = place.binary(id)
            {
                note(url, id.to_owned(), None, "");
            }
        });
    }
    any
}

/// Returns the `Type/id` of a resource.
fn name_of(root: Value<'_>) -> String {
    let text = |name: &str| root.get_str(name).unwrap_or_default();
    format!("{}/{}", text("resourceType"), text("id"))
}

/// Returns the version of a record: the source's version id or, if it has none, a digest of the whole record.
fn version_of(root: Value<'_>, line: &str) -> String {
    let version = root
        .get("meta")
        .filter(Value::is_object)
        .and_then(|meta| meta.get_str("versionId"));
    match version {
        Some(version) => version.into_owned(),
        None => hexadecimal(&Sha256::digest(line)),
    }
}

/// Calls `visit` for each Attachment with an address in a resource. Passes the Attachment and its `url`.
pub(super) fn attachments<'t>(root: Value<'t>, visit: &mut dyn FnMut(Value<'t>, Value<'t>)) {
    if let Some(type_id) = root.get_str("resourceType").and_then(|name| facts().lookup(&name)) {
        walk(root, type_id, visit);
    }
}

fn walk<'t>(value: Value<'t>, type_id: TypeId, visit: &mut dyn FnMut(Value<'t>, Value<'t>)) {
    if value.is_array() {
        value.items().for_each(|item| walk(item, type_id, visit));
        return;
    }
    if !value.is_object() {
        return;
    }
    let name = facts().get(type_id).name;
    if name == "Resource" {
        return attachments(value, visit);
    }
    if name == "Attachment"
        && let Some(url) = value.get("url").filter(|url| url.is_string())
    {
        visit(value, url);
    }
    for (key, child) in value.entries() {
        if !child.is_object() && !child.is_array() {
            continue;
        }
        if let Some(of) = facts().child(type_id, &key.name()) {
            walk(child, of.type_id, visit);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn place() -> SourceAddress {
        let base = "https://payer.example/fhir";
        SourceAddress::at(SourceBase::new(base), Realm::under([base])).unwrap()
    }

    fn found(lines: &[&str]) -> Found {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.ndjson");
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        find(&[path.into()], &place()).unwrap()
    }

    #[test]
    fn attachments_and_binaries_are_found_wherever_records_have_them() {
        let found = found(&[
            r#"{"resourceType":"DocumentReference","id":"d","content":[{"attachment":{"contentType":"application/pdf","url":"https://payer.example/fhir/Binary/b1"}},
                {"attachment":{"url":"Binary/b2/_history/3"}}]}"#
                .replace('\n', " ")
                .as_str(),
            r#"{"resourceType":"DiagnosticReport","id":"r","presentedForm":[{"url":"files/x.html?a=1"},{"data":"aGk="},{"url":"https://elsewhere.example/x"}]}"#,
            r#"{"resourceType":"Media","id":"m","content":{"url":"http://payer.example/fhir/Binary/b1"},"extension":[{"url":"https://payer.example/fhir/Binary/no"}]}"#,
            r#"{"resourceType":"Communication","id":"c","payload":[{"contentAttachment":{"url":"Binary/b3"}},{"contentReference":{"reference":"Binary/b4"}}]}"#,
            r#"{"resourceType":"Binary","id":"b5","contentType":"text/plain","data":"aGk="}"#,
            r#"{"resourceType":"List","id":"l","contained":[{"resourceType":"Media","id":"i","content":{"url":"Binary/b5"}}]}"#,
        ]);
        let ids: Vec<(&str, &str)> = found
            .wanted
            .iter()
            .map(|(url, wanted)| (url.as_str(), wanted.source_id.as_str()))
            .map(|(url, id)| {
                (
                    &url["https://payer.example/fhir/".len()..],
                    if id.starts_with("url-") { "url" } else { id },
                )
            })
            .collect();
        assert_eq!(
            ids,
            [
                ("Binary/b1", "b1"),
                ("Binary/b2/_history/3", "url"),
                ("Binary/b3", "b3"),
                ("Binary/b4", "b4"),
                ("Binary/b5", "b5"),
                ("files/x.html?a=1", "url"),
            ]
        );
        assert_eq!(found.inline.iter().map(String::as_str).collect::<Vec<_>>(), ["b5"]);
        let b1 = &found.wanted[&Url::parse("https://payer.example/fhir/Binary/b1").unwrap()];
        assert_eq!(b1.content_type.as_deref(), Some("application/pdf"));
        assert_eq!(b1.said.len(), 2, "two records refer to it");
    }

    #[test]
    fn what_a_record_says_decides_whether_it_is_the_same() {
        let origin = |record: &str| found(&[record]).wanted.values().next().unwrap().origin();
        let of = |meta: &str, attachment: &str, rest: &str| {
            origin(&format!(
                r#"{{"resourceType":"Media","id":"m",{meta}"content":{{"url":"Binary/b"{attachment}}}{rest}}}"#
            ))
        };
        let first = of(r#""meta":{"versionId":"1"},"#, r#","size":3"#, "");
        assert_eq!(
            first,
            of(r#""meta":{"versionId":"1"},"#, r#","size":3"#, r#","status":"x""#)
        );
        assert_ne!(first, of(r#""meta":{"versionId":"2"},"#, r#","size":3"#, ""));
        assert_ne!(first, of(r#""meta":{"versionId":"1"},"#, r#","size":4"#, ""));
        assert_ne!(
            of("", "", ""),
            of("", "", r#","status":"x""#),
            "without versions the record itself decides"
        );
    }
}
