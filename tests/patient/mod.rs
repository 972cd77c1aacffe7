//! Operations on all of a patient's records, by all their APIs.

pub(crate) mod cards;
mod everything_command;
mod everything_doors;
mod everything_pages;
mod everything_plain;
mod pdf;
mod pdf_content;
mod plain_model;
mod signed;

use serde_json::Value;

use crate::harness::server::{Answer, Server};

/// An entry: mode and `Type/id`.
type Entry = (String, String);

fn name(resource: &Value) -> String {
    let part = |name: &str| resource[name].as_str().unwrap();
    format!("{}/{}", part("resourceType"), part("id"))
}

/// The entries of a page, in order. Checks the address of each resource.
fn entries(server: &Server, bundle: &Value) -> Vec<Entry> {
    let base = format!("http://{}/fhir/", server.address);
    let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
    let entry = |entry: &Value| {
        let name = name(&entry["resource"]);
        assert_eq!(entry["fullUrl"], format!("{base}{name}"));
        (entry["search"]["mode"].as_str().unwrap().to_owned(), name)
    };
    entries.iter().map(entry).collect()
}

fn ok(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("application/fhir+json"));
    let bundle = answer.json();
    assert_eq!(
        (&bundle["resourceType"], &bundle["type"]),
        (&"Bundle".into(), &"searchset".into())
    );
    bundle
}

/// The path of a link, if the page has it.
fn link(server: &Server, bundle: &Value, relation: &str) -> Option<String> {
    let links = bundle["link"].as_array().unwrap();
    let link = links.iter().find(|link| link["relation"] == relation)?;
    let base = format!("http://{}", server.address);
    Some(link["url"].as_str().unwrap().strip_prefix(&base).unwrap().to_owned())
}

/// The pages reached by following these links.
fn walk(server: &Server, token: &str, path: &str, relation: &str) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        assert!(pages.len() < 2_000, "{path}: no end");
        let page = ok(&server.get(&path, token));
        next = link(server, &page, relation);
        pages.push(page);
    }
    pages
}

/// All entries of a walk.
fn all(server: &Server, token: &str, path: &str) -> Vec<Entry> {
    let pages = walk(server, token, path, "next");
    pages.iter().flat_map(|page| entries(server, page)).collect()
}

fn names(entries: &[Entry], mode: &str) -> Vec<String> {
    let of_mode = entries.iter().filter(|(of, _)| of == mode);
    of_mode.map(|(_, name)| name.clone()).collect()
}
