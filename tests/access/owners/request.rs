//! A request to any API, and its answer.

use std::io::Read;

use serde_json::{Value, json};

use super::servers::BASE;
use crate::harness::server::{Answer, Server};
use crate::health_links::Link;
use crate::patient::cards;
use crate::pdf::reading::text;

/// A request.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    Get(String),
    Form {
        path: String,
        body: String,
    },
    Run {
        path: String,
        body: String,
    },
    /// `$pdf`. The answer's text is that of the pages.
    Pages(String),
    /// A new health link with this content. The answer's text is the document that a recipient reads.
    Shared(&'static str),
}

impl Ask {
    pub(super) fn of(&self, server: &Server, token: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        let send = |path: &str, content_type: &str, body: &str| {
            server.send(
                "POST",
                path,
                &[("authorization", &bearer), ("content-type", content_type)],
                body,
            )
        };
        match self {
            Ask::Get(path) => server.get(path, token),
            Ask::Form { path, body } => send(path, "application/x-www-form-urlencoded", body),
            Ask::Run { path, body } => send(path, "application/fhir+json", body),
            Ask::Pages(path) => {
                let (status, headers, bytes) = server.send_bytes("GET", path, &[("authorization", &bearer)], &[]);
                let text = match headers["content-type"].to_str().unwrap() {
                    "application/pdf" => text(&bytes),
                    "application/zip" => archived(bytes),
                    _ => String::from_utf8(bytes).unwrap(),
                };
                Answer { status, headers, text }
            }
            Ask::Shared(content) => {
                let made = server.post(
                    "/rest/health-links",
                    &[("authorization", &bearer)],
                    &json!({"content": content}),
                );
                if made.status != 201 {
                    return made;
                }
                let id = made.json()["id"].as_str().unwrap().to_owned();
                let text = read(server, &Link::at(BASE, &made.json())).to_string();
                // A consent has at most 20 links.
                let path = format!("/rest/health-links/{id}");
                assert_eq!(
                    server.send("DELETE", &path, &[("authorization", &bearer)], "").status,
                    204
                );
                Answer {
                    status: 200,
                    text,
                    ..made
                }
            }
        }
    }
}

/// The text of all files in an archive.
fn archived(bytes: Vec<u8>) -> String {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let texts = (0..archive.len()).map(|at| {
        let mut file = Vec::new();
        archive.by_index(at).unwrap().read_to_end(&mut file).unwrap();
        text(&file)
    });
    texts.collect()
}

/// The Bundle that a recipient of a link reads.
fn read(server: &Server, link: &Link) -> Value {
    let manifest = link.manifest(server, &json!({}));
    assert_eq!(manifest.status, 200, "{}", manifest.text);
    let file = &manifest.json()["files"][0];
    let media = file["contentType"].as_str().unwrap();
    let read = link.file(file["embedded"].as_str().unwrap(), media);
    match read["verifiableCredential"][0].as_str() {
        Some(card) => cards::read_at(server, BASE, card)["vc"]["credentialSubject"]["fhirBundle"].clone(),
        None => read,
    }
}
