//! What an answer shows and reveals.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::records::{Shown, mark};
use super::request::Ask;
use super::servers::BASE;
use crate::harness::server::Answer;
use crate::pdf::reading::{squeezed, text};

/// The Conditions that a text tells of: no other records have the texts of their codes but those of the same person.
fn told_of(text: &str) -> Vec<(String, String)> {
    let text = squeezed(text);
    let everybody = ["local", "other", "test"]
        .into_iter()
        .flat_map(|label| ["ann", "ben"].map(|id| (label, id)));
    everybody
        .filter(|(label, id)| text.contains(&squeezed(&format!("of {id}, {label}"))))
        .map(|(label, id)| {
            (
                format!("Condition/ill-{id}"),
                json!(format!("{label}-{id}")).to_string(),
            )
        })
        .collect()
}

/// The records in an answer, included ones too, in order. OperationOutcomes do not count, and neither do the records
/// that a document adds. Of documents, the records follow that their texts tell of.
pub(super) fn shown(ask: &Ask, answer: &Answer) -> Vec<(String, String)> {
    assert!(answer.status < 500, "{ask:?}: {}", answer.text);
    if answer.status != 200 {
        return Vec::new();
    }
    if let Ask::Pages(_) = ask {
        return told_of(&answer.text);
    }
    let body = answer.json();
    if body["type"] == "document" || body["type"] == "collection" {
        let entries = body["entry"].as_array().unwrap();
        let marked = entries
            .iter()
            .map(|entry| mark(&entry["resource"]))
            .filter(|(_, whose)| !whose.is_empty());
        let embedded = entries
            .iter()
            .filter_map(|entry| entry["resource"]["content"][0]["attachment"]["data"].as_str());
        let pages = embedded
            .filter_map(|data| STANDARD.decode(data).ok())
            .filter(|bytes| bytes.starts_with(b"%PDF"));
        let pages: Vec<_> = pages.flat_map(|bytes| told_of(&text(&bytes))).collect();
        return marked.chain(told_of(&answer.text)).chain(pages).collect();
    }
    if let Ask::Run { path, .. } = ask {
        let resource_type = path.rsplit('?').next().unwrap();
        let rows = body["rows"].as_array().unwrap().clone();
        let row = |row: Value| {
            (
                format!("{resource_type}/{}", row["id"].as_str().unwrap()),
                row["whose"].to_string(),
            )
        };
        return rows.into_iter().map(row).collect();
    }
    let entries = match body["resourceType"].as_str() {
        Some("Bundle") => body["entry"].as_array().cloned().unwrap_or_default(),
        _ => vec![json!({"resource": body})],
    };
    let resources = entries.iter().map(|entry| &entry["resource"]);
    resources
        .filter(|resource| resource["resourceType"] != "OperationOutcome")
        .map(mark)
        .collect()
}

pub(super) fn links(answer: &Answer) -> BTreeMap<String, String> {
    if answer.status != 200 || !answer.text.starts_with('{') {
        return BTreeMap::new();
    }
    let links = answer.json()["link"].as_array().cloned().unwrap_or_default();
    let link = |link: &Value| {
        let path = link["url"].as_str().unwrap().strip_prefix(BASE).unwrap().to_owned();
        (link["relation"].as_str().unwrap().to_owned(), path)
    };
    links.iter().map(link).collect()
}

/// Checks that an answer shows only visible records.
pub(super) fn within(who: &str, ask: &Ask, answer: &Answer, may_see: &Shown) {
    for record in shown(ask, answer) {
        assert!(may_see.contains(&record), "{who} sees {record:?} by {ask:?}");
    }
}

/// Everything in an answer that may reveal something.
pub(super) fn told(ask: &Ask, answer: &Answer) -> Value {
    let mut body = match ask {
        Ask::Pages(_) => json!(answer.text),
        _ if answer.status == 200 => answer.json(),
        _ => Value::Null,
    };
    let about = match answer.status {
        200 => body["total"].clone(),
        // An error in words. The snapshot in a link is not secret.
        _ => json!(answer.text),
    };
    let links: Vec<_> = links(answer)
        .into_iter()
        .map(|(relation, path)| (relation, without_tag(&path)))
        .collect();
    let headers = [
        "content-type",
        "etag",
        "x-resource-count",
        "x-next-link",
        "server-timing",
        "vary",
    ];
    let headers = headers.map(|name| without_tag(answer.header(name)));
    neutral(&mut body);
    if body["resourceType"] == "Bundle" {
        body["id"] = Value::Null;
    }
    json!({"status": answer.status, "shown": shown(ask, answer), "about": about, "links": links, "headers": headers, "body": body})
}

/// Removes times and tags from an answer, because they differ between servers.
fn neutral(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_tag(text),
        Value::Array(items) => items.iter_mut().for_each(neutral),
        Value::Object(members) => {
            members.remove("lastUpdated");
            members.values_mut().for_each(neutral);
        }
        _ => {}
    }
}

/// A link's address without its encrypted part, which must have a fixed length.
fn without_tag(path: &str) -> String {
    let Some((before, rest)) = path.split_once("_tag=%7E%7E") else {
        return path.to_owned();
    };
    let (tag, after) = rest.split_at(rest.find('&').unwrap_or(rest.len()));
    format!("{before}_tag={}{after}", "x".repeat(tag.len()))
}
