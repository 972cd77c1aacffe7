//! Reads a page of a search: its records as the source wrote them, their references, the address of the next page, and
//! what the page itself shows to be missing. An entry that cannot be read costs only this entry.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::loss::{Loss, Losses};
use crate::fhir::TypeId;
use crate::ingest::{SourceBase, source_target};

/// Bundles inside Bundles are read up to this depth.
const DEEPEST: usize = 4;
/// The maximum number of OperationOutcomes of one page whose issues are kept.
const OUTCOMES: usize = 8;

/// A page of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::sync::jobs) struct Page {
    pub(in crate::sync::jobs) records: Vec<Record>,
    /// The address of the next page, as the source wrote it.
    pub(in crate::sync::jobs) next: Option<String>,
    /// Whether the answer is a Bundle, and not an OperationOutcome that finds nothing.
    pub(in crate::sync::jobs) is_bundle: bool,
    /// `Bundle.total`: the number of matches on all pages.
    pub(in crate::sync::jobs) total: Option<u64>,
    /// The number of entries that count as matches, whether or not they could be read.
    pub(in crate::sync::jobs) matches: u64,
    /// What is missing by the page's own account.
    pub(in crate::sync::jobs) losses: Losses,
    /// The OperationOutcomes among the page's entries, as JSON.
    pub(in crate::sync::jobs) said: Vec<String>,
}

/// A record as a line of NDJSON.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sync::jobs) struct Record {
    /// `Type/id`.
    pub(in crate::sync::jobs) name: String,
    /// The record without line breaks, not even at its end.
    pub(in crate::sync::jobs) line: String,
    /// The address under which the page shows the record (`fullUrl`).
    pub(in crate::sync::jobs) full_url: Option<String>,
}

/// The answer is not a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::sync::jobs) enum NoPage {
    /// It is an OperationOutcome that reports an error, with the code of its first such issue.
    #[error("the source reported an error instead of records ({0})")]
    Error(String),
    /// It is something else.
    #[error("the source gave something else than records")]
    Other,
}

#[derive(Deserialize)]
struct Bundle<'b> {
    #[serde(borrow)]
    total: Option<&'b RawValue>,
    #[serde(borrow)]
    link: Option<Vec<Link<'b>>>,
    #[serde(borrow)]
    entry: Option<Vec<&'b RawValue>>,
}

#[derive(Deserialize)]
struct Kind<'b> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'b, str>>,
}

#[derive(Deserialize)]
struct Link<'b> {
    #[serde(borrow)]
    relation: Option<Cow<'b, str>>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct Entry<'b> {
    #[serde(rename = "fullUrl", borrow)]
    full_url: Option<&'b RawValue>,
    #[serde(borrow)]
    resource: Option<&'b RawValue>,
    #[serde(borrow)]
    search: Option<&'b RawValue>,
    #[serde(borrow)]
    response: Option<&'b RawValue>,
}

#[derive(Default, Deserialize)]
struct InSearch<'b> {
    #[serde(borrow)]
    mode: Option<Cow<'b, str>>,
}

#[derive(Default, Deserialize)]
struct Response<'b> {
    #[serde(borrow)]
    status: Option<Cow<'b, str>>,
    #[serde(borrow)]
    outcome: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct Head<'b> {
    #[serde(rename = "resourceType", borrow)]
    resource_type: Cow<'b, str>,
    #[serde(borrow)]
    id: Option<Cow<'b, str>>,
}

#[derive(Deserialize)]
struct OperationOutcome<'b> {
    #[serde(borrow, default)]
    issue: Vec<Issue<'b>>,
}

#[derive(Deserialize)]
struct Issue<'b> {
    #[serde(borrow)]
    severity: Option<Cow<'b, str>>,
    #[serde(borrow)]
    code: Option<Cow<'b, str>>,
}

/// Reads a page of a search for a type. An OperationOutcome without an error is an empty page.
pub(in crate::sync::jobs) fn page(body: &[u8], searched: &str) -> Result<Page, NoPage> {
    let how = Reading {
        searched,
        is_intact: true,
    };
    match std::str::from_utf8(body) {
        Ok(text) => read(text, how),
        // Some bytes are not UTF-8. So records with replaced characters are not what the source has.
        Err(_) => read(
            &String::from_utf8_lossy(body),
            Reading {
                is_intact: false,
                ..how
            },
        ),
    }
}

/// How a page is read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    /// The searched type.
    searched: &'a str,
    /// Whether all bytes were UTF-8.
    is_intact: bool,
}

fn read(text: &str, how: Reading<'_>) -> Result<Page, NoPage> {
    let head: Head<'_> = serde_json::from_str(text).map_err(|_| NoPage::Other)?;
    let mut page = Page::default();
    match head.resource_type.as_ref() {
        "OperationOutcome" => {
            if let Some(code) = error_of(text) {
                return Err(NoPage::Error(code));
            }
            page.said.push(text.to_owned());
        }
        "Bundle" => {
            page.is_bundle = true;
            page.read(text, how, 0)?;
        }
        _ => return Err(NoPage::Other),
    }
    Ok(page)
}

impl Page {
    fn read(&mut self, text: &str, how: Reading<'_>, depth: usize) -> Result<(), NoPage> {
        let bundle: Bundle<'_> = serde_json::from_str(text).map_err(|_| NoPage::Other)?;
        // Relations are names of IANA's registry, which are compared without regard to case (RFC 8288, section 2.1.1).
        let is_next = |link: &Link<'_>| {
            let relation = link.relation.as_deref();
            relation.is_some_and(|relation| relation.trim().eq_ignore_ascii_case("next"))
        };
        let next = bundle.link.into_iter().flatten().filter(is_next);
        let next = next.filter_map(|link| link.url).next();
        if depth == 0 {
            self.next = next;
            self.total = bundle
                .total
                .and_then(|total| total.get().trim_matches('"').parse().ok());
        } else if next.is_some() {
            self.losses.note(Loss::InnerPages, 1);
        }
        for entry in bundle.entry.into_iter().flatten() {
            self.entry(entry.get(), how, depth);
        }
        Ok(())
    }

    fn entry(&mut self, text: &str, how: Reading<'_>, depth: usize) {
        let Ok(entry) = serde_json::from_str::<Entry<'_>>(text) else {
            self.matches += 1;
            return self.losses.note(Loss::Unreadable, 1);
        };
        let mode = entry
            .search
            .and_then(|search| serde_json::from_str::<InSearch<'_>>(search.get()).ok());
        let mode = mode.and_then(|search| search.mode);
        let is_match = !matches!(mode.as_deref(), Some("include" | "outcome"));
        let response = entry
            .response
            .and_then(|response| serde_json::from_str::<Response<'_>>(response.get()).ok());
        let status = response.as_ref().and_then(|response| {
            let status = response.status.as_deref()?.trim();
            status.get(..3).unwrap_or(status).parse::<u16>().ok()
        });
        if let Some(outcome) = response.as_ref().and_then(|response| response.outcome) {
            self.hear(outcome.get());
        }
        let refused = status.filter(|status| *status >= 400);
        if let Some(status) = refused {
            self.losses.note(Loss::Status(status), 1);
        }
        let Some(resource) = entry.resource else {
            self.matches += u64::from(is_match);
            if refused.is_none() {
                self.losses.note(Loss::Empty, 1);
            }
            return;
        };
        let resource = resource.get();
        let head = serde_json::from_str::<Head<'_>>(resource);
        match head.as_ref().map(|head| head.resource_type.as_ref()) {
            Ok("OperationOutcome") => {
                if let Some(code) = error_of(resource).filter(|_| refused.is_none()) {
                    self.losses.note(Loss::Reported(code), 1);
                }
                return self.hear(resource);
            }
            Ok("Bundle") if depth < DEEPEST && !is_request(resource) => {
                if self.read(resource, how, depth + 1).is_err() {
                    self.losses.note(Loss::Unreadable, 1);
                }
                return;
            }
            _ => {}
        }
        // Many sources leave out the mode. Then a record of another type was included.
        let is_included = mode.is_none() && head.is_ok_and(|head| head.resource_type != how.searched);
        self.matches += u64::from(is_match && !is_included);
        match record(resource) {
            Ok(Some(record)) if how.is_intact || !record.line.contains('\u{fffd}') => {
                let full_url = entry.full_url.and_then(|url| serde_json::from_str(url.get()).ok());
                self.records.push(Record { full_url, ..record });
            }
            _ => self.losses.note(Loss::Unreadable, 1),
        }
    }

    fn hear(&mut self, outcome: &str) {
        if self.said.len() < OUTCOMES {
            self.said.push(outcome.to_owned());
        }
    }
}

/// Whether the entries of a Bundle are requests and not records.
fn is_request(bundle: &str) -> bool {
    let kind = serde_json::from_str::<Kind<'_>>(bundle)
        .ok()
        .and_then(|bundle| bundle.kind);
    matches!(kind.as_deref(), Some("transaction" | "batch"))
}

/// Returns the code of the first issue with which an OperationOutcome reports that records are missing: an issue of the
/// severity `error` or `fatal`, or one with the code `incomplete`. `not-found` is no such issue, because a search that
/// finds nothing has found everything.
fn error_of(outcome: &str) -> Option<String> {
    let issues = issues(outcome)?;
    let is_error = |issue: &&Issue<'_>| {
        let code = issue.code.as_deref().unwrap_or_default();
        let severity = issue.severity.as_deref().unwrap_or_default();
        code == "incomplete" || matches!(severity, "error" | "fatal") && code != "not-found"
    };
    let code = issues.iter().find(is_error)?.code.as_deref().unwrap_or_default();
    let is_code = (1..=32).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    Some(if is_code { code } else { "unknown" }.to_owned())
}

/// Whether the body of a refused search only says that there are no records: it is an OperationOutcome with the code
/// `not-found`, and reports no other error.
pub(super) fn says_nothing_is_found(body: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(body) else {
        return false;
    };
    let is_outcome = serde_json::from_str::<Head<'_>>(text).is_ok_and(|head| head.resource_type == "OperationOutcome");
    let found = |issue: &Issue<'_>| issue.code.as_deref() == Some("not-found");
    is_outcome && error_of(text).is_none() && issues(text).is_some_and(|issues| issues.iter().any(found))
}

fn issues(outcome: &str) -> Option<Vec<Issue<'_>>> {
    Some(serde_json::from_str::<OperationOutcome<'_>>(outcome).ok()?.issue)
}

/// Reads a single resource. Returns `None` for an OperationOutcome.
pub(in crate::sync::jobs) fn record(json: &str) -> Result<Option<Record>, NoPage> {
    let head: Head<'_> = serde_json::from_str(json).map_err(|_| NoPage::Other)?;
    // A resource without an id gets an empty one, because nothing can refer to it.
    Ok((head.resource_type != "OperationOutcome").then(|| Record {
        name: format!("{}/{}", head.resource_type, head.id.unwrap_or_default()),
        line: one_line(json),
        full_url: None,
    }))
}

/// Replaces line breaks by spaces. They occur only between JSON tokens, because JSON strings contain no raw line
/// breaks.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// Calls `visit` for each target of a record's references at the same source, with its type and its id.
pub(in crate::sync::jobs) fn references(line: &str, base: &SourceBase, mut visit: impl FnMut(TypeId, &str)) {
    const KEY: &[u8] = b"\"reference\"";
    for at in memmem::find_iter(line.as_bytes(), KEY) {
        let rest = line[at + KEY.len()..].trim_start();
        let Some(value) = rest.strip_prefix(':').map(str::trim_start) else {
            continue;
        };
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Cow<'_, str>>();
        let Some(Ok(text)) = values.next() else { continue };
        let text = base.relative(&text).unwrap_or(&text);
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
        let body = "{\"resourceType\":\"Bundle\",\"link\":[{\"relation\":\"self\",\"url\":\"s\"},{\"relation\":\"Next\",\"url\":\"n?x=1\"}],
            \"total\":1,\"entry\":[{\"resource\":{\n\"resourceType\":\"Observation\",\r\n\"id\":\"o\",\"valueDecimal\":1.50}},
            {\"resource\":{\"resourceType\":\"OperationOutcome\"}},{\"resource\":{\"resourceType\":\"OperationOutcome\",\"id\":\"1\"},\"search\":{\"mode\":\"outcome\"}}]}";
        let found = page(body.as_bytes(), "Observation").unwrap();
        assert_eq!(found.next.as_deref(), Some("n?x=1"));
        assert_eq!((found.records.len(), found.matches, found.total), (1, 1, Some(1)));
        assert_eq!(found.records[0].name, "Observation/o");
        assert_eq!(
            found.records[0].line,
            "{ \"resourceType\":\"Observation\",  \"id\":\"o\",\"valueDecimal\":1.50}"
        );
        assert_eq!(found.losses, Losses::default());
        let empty = page(br#"{"resourceType":"Bundle","entry":null,"total":0}"#, "Condition").unwrap();
        assert!(empty.records.is_empty() && empty.next.is_none());
    }

    #[test]
    fn an_entry_that_cannot_be_read_costs_only_itself() {
        for (entry, loss) in [
            ("null", Loss::Unreadable),
            ("7", Loss::Unreadable),
            (r#"{"resource":{}}"#, Loss::Unreadable),
            (r#"{"resource":7}"#, Loss::Unreadable),
            (r#"{"resource":{"resourceType":"Condition","id":7}}"#, Loss::Unreadable),
            (
                r#"{"resource":{"resourceType":"Condition","id":"\ud83d"}}"#,
                Loss::Unreadable,
            ),
            (r#"{"fullUrl":"u"}"#, Loss::Empty),
            (r#"{"resource":null,"search":{"mode":"match"}}"#, Loss::Empty),
            (r#"{"response":{"status":"403 Forbidden"}}"#, Loss::Status(403)),
            (
                r#"{"response":{"status":"500"},"resource":{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"exception"}]}}"#,
                Loss::Status(500),
            ),
            (
                r#"{"resource":{"resourceType":"OperationOutcome","issue":[{"severity":"fatal","code":"timeout"}]}}"#,
                Loss::Reported("timeout".to_owned()),
            ),
            (
                r#"{"resource":{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"A B"}]}}"#,
                Loss::Reported("unknown".to_owned()),
            ),
        ] {
            let body = format!(
                r#"{{"resourceType":"Bundle","entry":[{{"resource":{{"resourceType":"Condition","id":"a"}}}},{entry}]}}"#
            );
            let found = page(body.as_bytes(), "Condition").unwrap();
            assert_eq!(found.records.len(), 1, "{entry}");
            let mut losses = Losses::default();
            losses.note(loss, 1);
            assert_eq!(found.losses, losses, "{entry}");
        }
        // What the source says of no records, or of their kind, is no loss.
        for issue in [
            r#"{"severity":"error","code":"not-found"}"#,
            r#"{"severity":"warning","code":"suppressed"}"#,
            r#"{"severity":"information","code":"informational"}"#,
        ] {
            let outcome = format!(r#"{{"resourceType":"OperationOutcome","issue":[{issue}]}}"#);
            let found = page(
                format!(r#"{{"resourceType":"Bundle","entry":[{{"resource":{outcome}}}]}}"#).as_bytes(),
                "Condition",
            );
            assert_eq!(found.unwrap().losses, Losses::default(), "{issue}");
            assert!(
                page(outcome.as_bytes(), "Condition").unwrap().records.is_empty(),
                "{issue}"
            );
        }
    }

    #[test]
    fn what_is_included_is_no_match() {
        let record = |name: &str, mode: &str| format!(r#"{{"resource":{{"resourceType":"{name}","id":"a"}}{mode}}}"#);
        let include = r#","search":{"mode":"include"}"#;
        let entries = [
            record("Condition", ""),
            record("Provenance", ""),
            record("Condition", include),
            record("Provenance", r#","search":{"mode":"match"}"#),
        ];
        let body = format!(
            r#"{{"resourceType":"Bundle","total":9,"entry":[{}]}}"#,
            entries.join(",")
        );
        let found = page(body.as_bytes(), "Condition").unwrap();
        assert_eq!((found.records.len(), found.matches), (4, 2));
    }

    #[test]
    fn bytes_that_are_no_utf8_cost_the_records_that_have_them() {
        let body = [
            br#"{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Condition","id":"a","x":"\ufffd"}},
                {"resource":{"resourceType":"Condition","id":"b","x":""#
                .as_slice(),
            &[0xe9],
            br#""}}]}"#,
        ]
        .concat();
        let found = page(&body, "Condition").unwrap();
        assert_eq!(
            found.records.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["Condition/a"]
        );
        assert_eq!(found.losses.len(), 1);
    }

    #[test]
    fn bundles_in_bundles_have_their_entries_read() {
        let inner = |kind: &str, link: &str| {
            format!(
                r#"{{"resource":{{"resourceType":"Bundle","id":"i","type":"{kind}",{link}"entry":[{{"resource":{{"resourceType":"Condition","id":"b"}}}},null]}}}}"#
            )
        };
        let of = |inner: String| {
            page(
                format!(r#"{{"resourceType":"Bundle","type":"searchset","entry":[{inner}]}}"#).as_bytes(),
                "Condition",
            )
            .unwrap()
        };
        let found = of(inner("searchset", ""));
        assert_eq!((found.records.len(), found.losses.len(), found.next), (1, 1, None));
        assert_eq!(found.records[0].name, "Condition/b");
        let more = of(inner("searchset", r#""link":[{"relation":"next","url":"n"}],"#));
        assert_eq!((more.losses.len(), more.next), (2, None));
        // Entries of a transaction are requests and not records.
        assert_eq!(of(inner("transaction", "")).records[0].name, "Bundle/i");
        let mut deep = r#"{"resource":{"resourceType":"Condition","id":"b"}}"#.to_owned();
        for _ in 0..100 {
            deep = format!(r#"{{"resource":{{"resourceType":"Bundle","entry":[{deep}]}}}}"#);
        }
        assert_eq!(of(deep).records[0].name, "Bundle/");
    }

    #[test]
    fn what_is_no_page_is_told() {
        for body in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"resourceType":"Bundle","entry":{}}"#,
            r#"{"resourceType":"Bundle","entry":["#,
        ] {
            assert_eq!(page(body.as_bytes(), "Condition"), Err(NoPage::Other), "{body}");
        }
        assert_eq!(page(&[0xff, 0xfe], "Condition"), Err(NoPage::Other));
        let failed = br#"{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"transient"}]}"#;
        assert_eq!(page(failed, "Condition"), Err(NoPage::Error("transient".to_owned())));
    }

    #[test]
    fn a_refusal_that_finds_nothing_is_told_from_others() {
        let outcome = |issues: &str| format!(r#"{{"resourceType":"OperationOutcome","issue":[{issues}]}}"#);
        let not_found = r#"{"severity":"error","code":"not-found"}"#;
        assert!(says_nothing_is_found(outcome(not_found).as_bytes()));
        for other in [
            outcome(r#"{"severity":"error","code":"not-supported"}"#),
            outcome(&format!(r#"{not_found},{{"severity":"error","code":"invalid"}}"#)),
            outcome(""),
            String::new(),
            not_found.to_owned(),
        ] {
            assert!(!says_nothing_is_found(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn references_are_found_wherever_they_lead_to_the_source() {
        let line = r##"{"a":{"reference":"Organization/1"},"b":[{ "reference" : "https://p.example/fhir/Practitioner\/2" }],
            "c":{"reference":"https://other.example/fhir/Practitioner/3"},"d":{"reference":"#4"},"f":{"reference":"Location/l_5"},"g":{"reference":"Location/../x"},"reference":7,"e":"\"reference\":"}"##;
        let mut found = Vec::new();
        references(line, &SourceBase::new("https://p.example/fhir"), |type_id, id| {
            found.push(format!("{}/{id}", crate::fhir::facts().get(type_id).name));
        });
        assert_eq!(found, ["Organization/1", "Practitioner/2", "Location/l_5"]);
    }
}
