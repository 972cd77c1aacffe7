//! Reads a page of a search: its records as the source wrote them, their references, and the address of the next page.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fhir::TypeId;
use crate::ingest::source_target;

/// A page of a search.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sync::jobs) struct Page {
    pub(in crate::sync::jobs) records: Vec<Record>,
    /// The address of the next page, as the source wrote it.
    pub(in crate::sync::jobs) next: Option<String>,
    /// The last OperationOutcome among the page's entries, as JSON.
    pub(in crate::sync::jobs) said: Option<String>,
}

/// A record as a line of NDJSON.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sync::jobs) struct Record {
    /// `Type/id`.
    pub(in crate::sync::jobs) name: String,
    /// The record without line breaks, not even at its end.
    pub(in crate::sync::jobs) line: String,
}

/// The answer is not a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no page of records")]
pub(in crate::sync::jobs) struct NoPage;

#[derive(Deserialize)]
struct Bundle<'b> {
    #[serde(rename = "resourceType", borrow)]
    resource_type: Cow<'b, str>,
    #[serde(borrow)]
    link: Option<Vec<Link<'b>>>,
    #[serde(borrow)]
    entry: Option<Vec<Entry<'b>>>,
}

#[derive(Deserialize)]
struct Link<'b> {
    #[serde(borrow)]
    relation: Option<Cow<'b, str>>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct Entry<'b> {
    #[serde(borrow)]
    resource: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct Head<'b> {
    #[serde(rename = "resourceType", borrow)]
    resource_type: Cow<'b, str>,
    #[serde(borrow)]
    id: Option<Cow<'b, str>>,
}

/// Reads a page of a search.
pub(in crate::sync::jobs) fn page(body: &[u8]) -> Result<Page, NoPage> {
    let bundle: Bundle<'_> = serde_json::from_slice(body).map_err(|_| NoPage)?;
    if bundle.resource_type != "Bundle" {
        return Err(NoPage);
    }
    let links = bundle.link.into_iter().flatten();
    let next = links.filter(|link| link.relation.as_deref() == Some("next"));
    let mut page = Page {
        records: Vec::new(),
        next: next.filter_map(|link| link.url).next(),
        said: None,
    };
    for entry in bundle.entry.into_iter().flatten() {
        let Some(resource) = entry.resource else { continue };
        match record(resource.get())? {
            Some(record) => page.records.push(record),
            None => page.said = Some(resource.get().to_owned()),
        }
    }
    Ok(page)
}

/// Reads a single resource. Returns `None` for an OperationOutcome.
pub(in crate::sync::jobs) fn record(json: &str) -> Result<Option<Record>, NoPage> {
    let head: Head<'_> = serde_json::from_str(json).map_err(|_| NoPage)?;
    // A resource without an id gets an empty one, because nothing can refer to it.
    Ok((head.resource_type != "OperationOutcome").then(|| Record {
        name: format!("{}/{}", head.resource_type, head.id.unwrap_or_default()),
        line: one_line(json),
    }))
}

/// Replaces line breaks by spaces. They occur only between JSON tokens, because JSON strings contain no raw line
/// breaks.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// Calls `visit` for each target of a record's references at the same source, with its type and its id.
pub(in crate::sync::jobs) fn references(line: &str, base: &str, mut visit: impl FnMut(TypeId, &str)) {
    const KEY: &[u8] = b"\"reference\"";
    for at in memmem::find_iter(line.as_bytes(), KEY) {
        let rest = line[at + KEY.len()..].trim_start();
        let Some(value) = rest.strip_prefix(':').map(str::trim_start) else {
            continue;
        };
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Cow<'_, str>>();
        let Some(Ok(text)) = values.next() else { continue };
        let text = text
            .strip_prefix(base)
            .and_then(|text| text.strip_prefix('/'))
            .unwrap_or(&text);
        if let Some(target) = source_target(text).filter(|target| !matches!(target.id, "." | "..")) {
            visit(target.type_id, target.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gives_its_records_as_they_were_written() {
        let body = "{\"resourceType\":\"Bundle\",\"link\":[{\"relation\":\"self\",\"url\":\"s\"},{\"relation\":\"next\",\"url\":\"n?x=1\"}],
            \"entry\":[{\"resource\":{\n\"resourceType\":\"Observation\",\r\n\"id\":\"o\",\"valueDecimal\":1.50}},{\"fullUrl\":\"u\"},
            {\"resource\":{\"resourceType\":\"OperationOutcome\"}},{\"resource\":{\"resourceType\":\"OperationOutcome\",\"id\":\"1\"}}]}";
        let found = page(body.as_bytes()).unwrap();
        assert_eq!(found.next.as_deref(), Some("n?x=1"));
        assert_eq!(found.records.len(), 1);
        assert_eq!(found.records[0].name, "Observation/o");
        assert_eq!(
            found.records[0].line,
            "{ \"resourceType\":\"Observation\",  \"id\":\"o\",\"valueDecimal\":1.50}"
        );
        let empty = page(br#"{"resourceType":"Bundle","entry":null,"total":0}"#).unwrap();
        assert!(empty.records.is_empty() && empty.next.is_none());
    }

    #[test]
    fn what_is_no_page_is_told() {
        for body in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"resourceType":"OperationOutcome"}"#,
            r#"{"resourceType":"Bundle","entry":{}}"#,
            r#"{"resourceType":"Bundle","entry":[{"resource":{}}]}"#,
            r#"{"resourceType":"Bundle","entry":[{"resource":7}]}"#,
            r#"{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Observation","id":7}}]}"#,
            r#"{"resourceType":"Bundle","entry":["#,
        ] {
            assert_eq!(page(body.as_bytes()), Err(NoPage), "{body}");
        }
        assert_eq!(page(&[0xff, 0xfe]), Err(NoPage));
    }

    #[test]
    fn references_are_found_wherever_they_lead_to_the_source() {
        let line = r##"{"a":{"reference":"Organization/1"},"b":[{ "reference" : "https://p.example/fhir/Practitioner\/2" }],
            "c":{"reference":"https://other.example/fhir/Practitioner/3"},"d":{"reference":"#4"},"f":{"reference":"Location/l_5"},"g":{"reference":"Location/../x"},"reference":7,"e":"\"reference\":"}"##;
        let mut found = Vec::new();
        references(line, "https://p.example/fhir", |type_id, id| {
            found.push(format!("{}/{id}", crate::fhir::facts().get(type_id).name));
        });
        assert_eq!(found, ["Organization/1", "Practitioner/2", "Location/l_5"]);
    }
}
