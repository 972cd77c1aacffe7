//! What a source says about its failures: the issues of its OperationOutcomes, cleaned and shortened, and the status of
//! the answers. They are for the application whose patient made the request, and never for a log.
//!
//! An issue keeps its severity, code, details, diagnostics and expressions. Tokens are removed, and so is every long
//! word, because tokens, addresses and dumps of records are long words. Narratives, extensions and contained resources
//! are left out.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::consent::SourceOutcome;
use crate::fhir::hidden::is_hidden;
use crate::fhir::outcome::{IssueType, Severity};

/// An answer with more bytes than this is ignored.
const LARGEST: usize = 256 << 10;
/// The maximum number of stored issues.
const ISSUES: usize = 8;
/// The maximum number of characters of a text. `WORD` is the maximum of one word in the text.
const LETTERS: usize = 500;
const WORD: usize = 48;
/// The maximum number of codings of an issue, and of its expressions.
const PARTS: usize = 4;
/// Secrets with fewer bytes than this are not cut out.
const SHORTEST_SECRET: usize = 6;
/// Replaces text that was cut out.
const CUT: &str = "…";

/// The issues that one source sent during one job.
#[derive(Default)]
pub(super) struct Said(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    issues: Vec<Value>,
    /// The statuses of the answers with stored issues. Successful ones are left out.
    statuses: BTreeSet<u16>,
}

impl Said {
    /// Stores the issues of an OperationOutcome that came with this status. Cuts these secrets out. Ignores any other
    /// body.
    pub(super) fn hear(&self, status: u16, body: &[u8], secrets: &[&str]) {
        let is_full = || self.0.lock().unwrap_or_else(PoisonError::into_inner).issues.len() >= ISSUES;
        if body.len() > LARGEST || is_full() {
            return;
        }
        let Ok(outcome) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        if outcome["resourceType"] != "OperationOutcome" {
            return;
        }
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut has_issues = false;
        for issue in list(&outcome["issue"]) {
            has_issues = true;
            let issue = cleaned(issue, secrets);
            if heard.issues.len() < ISSUES && !heard.issues.contains(&issue) {
                heard.issues.push(issue);
            }
        }
        if has_issues && status >= 400 {
            heard.statuses.insert(status);
        }
    }

    /// Returns all issues, or `None` if there are none.
    pub(super) fn outcome(&self) -> Option<SourceOutcome> {
        let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statuses = heard.statuses.iter().copied();
        let outcome = SourceOutcome {
            status: statuses.next().filter(|_| statuses.next().is_none()),
            issue: heard.issues.clone(),
        };
        (!heard.issues.is_empty()).then_some(outcome)
    }
}

fn cleaned(issue: &Value, secrets: &[&str]) -> Value {
    let text = |value: &Value| Some(cut(value.as_str()?, secrets)).filter(|text| !text.is_empty());
    let severity = issue["severity"].as_str().and_then(Severity::parse);
    let code = issue["code"].as_str().and_then(IssueType::parse);
    let mut clean = json!({
        "severity": severity.unwrap_or(Severity::Error).as_str(),
        "code": code.unwrap_or(IssueType::Processing).as_str(),
    });
    let codings: Vec<Value> = list(&issue["details"]["coding"])
        .take(PARTS)
        .map(|coding| {
            let parts = ["system", "code", "display"].into_iter();
            let parts = parts.filter_map(|name| Some((name.to_owned(), text(&coding[name])?.into())));
            Value::Object(parts.collect())
        })
        .filter(|coding| coding.as_object().is_some_and(|coding| !coding.is_empty()))
        .collect();
    if !codings.is_empty() {
        clean["details"]["coding"] = codings.into();
    }
    if let Some(text) = text(&issue["details"]["text"]) {
        clean["details"]["text"] = text.into();
    }
    if let Some(text) = text(&issue["diagnostics"]) {
        clean["diagnostics"] = text.into();
    }
    let expressions: Vec<Value> = list(&issue["expression"])
        .take(PARTS)
        .filter_map(|expression| Some(text(expression)?.into()))
        .collect();
    if !expressions.is_empty() {
        clean["expression"] = expressions.into();
    }
    clean
}

/// Returns a text without these secrets, without long words and control characters, and not longer than the maximum.
fn cut(text: &str, secrets: &[&str]) -> String {
    let secrets = secrets.iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
    let clean = secrets.fold(text.to_owned(), |text, secret| text.replace(secret, CUT));
    let words = clean.split(|letter: char| letter.is_whitespace() || is_hidden(letter));
    let words = words
        .filter(|word| !word.is_empty())
        .map(|word| match word.chars().count() {
            0..=WORD => word,
            _ => CUT,
        });
    let mut short = String::new();
    let mut letters = 0;
    for word in words {
        let length = word.chars().count() + usize::from(!short.is_empty());
        if letters + length > LETTERS {
            return format!("{short} {CUT}");
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        letters += length;
    }
    short
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(outcome: &Value, secrets: &[&str]) -> Value {
        let said = Said::default();
        said.hear(403, outcome.to_string().as_bytes(), secrets);
        said.outcome().map_or(Value::Null, |outcome| outcome.issue.into())
    }

    #[test]
    fn an_issue_keeps_what_is_meant_for_people_and_programs() {
        let outcome = json!({"resourceType": "OperationOutcome", "id": "x", "text": {"div": "<div>no</div>"}, "issue": [
            {"severity": "fatal", "code": "forbidden", "diagnostics": "E17\n\tmember", "expression": ["Patient.id"],
             "details": {"coding": [{"system": "urn:codes", "code": "17", "userSelected": true}], "text": "Not eligible"},
             "extension": [{"url": "u", "valueString": "secret"}]},
            {"severity": "odd", "code": "odd"},
        ]});
        let expected = json!([
            {"severity": "fatal", "code": "forbidden", "diagnostics": "E17 member", "expression": ["Patient.id"],
             "details": {"coding": [{"system": "urn:codes", "code": "17"}], "text": "Not eligible"}},
            {"severity": "error", "code": "processing"},
        ]);
        assert_eq!(heard(&outcome, &[]), expected);
    }

    #[test]
    fn secrets_and_long_words_are_cut_out() {
        let long = "x".repeat(WORD + 1);
        let text = format!("the token sesame-1 of https://payer.example/fhir/{long} is over {long}");
        let outcome = json!({"resourceType": "OperationOutcome", "issue": [{"diagnostics": text}]});
        assert_eq!(
            heard(&outcome, &["sesame-1", ""])[0]["diagnostics"],
            "the token … of … is over …"
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let issue = |number: usize| json!({"code": "login", "details": {"text": format!("{number} ").repeat(10_000)}});
        let issues: Vec<Value> = (0..50).map(issue).collect();
        let outcome = json!({"resourceType": "OperationOutcome", "issue": issues[..3]});
        let said = Said::default();
        said.hear(400, outcome.to_string().as_bytes(), &[]);
        // A repeated outcome adds nothing.
        said.hear(400, outcome.to_string().as_bytes(), &[]);
        let kept = said.outcome().unwrap().issue;
        assert_eq!(kept.len(), 3);
        let text = kept[0]["details"]["text"].as_str().unwrap();
        assert!(text.chars().count() <= LETTERS + 2 && text.ends_with(CUT), "{text}");
        for issue in &issues {
            let outcome = json!({"resourceType": "OperationOutcome", "issue": [issue]});
            said.hear(400, outcome.to_string().as_bytes(), &[]);
        }
        let kept = said.outcome().unwrap().issue;
        assert_eq!(kept.len(), ISSUES);
        let large = json!({"resourceType": "OperationOutcome", "issue": [{"diagnostics": " x".repeat(LARGEST)}]});
        assert_eq!(heard(&large, &[]), Value::Null);
        for other in [
            json!({"resourceType": "Patient", "issue": [{}]}),
            json!([]),
            json!({"issue": 7}),
        ] {
            assert_eq!(heard(&other, &[]), Value::Null);
        }
    }
    #[test]
    fn the_status_is_that_of_all_refusals() {
        let outcome = |code: &str| json!({"resourceType": "OperationOutcome", "issue": [{"code": code}]}).to_string();
        for (heard, expected) in [
            (&[(403, "forbidden")][..], Some(403)),
            (&[(403, "forbidden"), (403, "login")], Some(403)),
            (&[(200, "informational"), (404, "not-found")], Some(404)),
            (&[(200, "informational")], None),
            (&[(403, "forbidden"), (404, "not-found")], None),
        ] {
            let said = Said::default();
            for (status, code) in heard {
                said.hear(*status, outcome(code).as_bytes(), &[]);
            }
            assert_eq!(said.outcome().unwrap().status, expected, "{heard:?}");
        }
        let said = Said::default();
        said.hear(403, b"{\"resourceType\":\"OperationOutcome\"}", &[]);
        assert_eq!(said.outcome(), None);
    }
}
