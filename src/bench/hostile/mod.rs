//! Sends hostile requests beside a soak: PDFs of people with hostile attachments, and searches with many includes.
//!
//! This module decides who these people are, what their attachments are, and what is asked. It does not judge the
//! answers: a server may answer such a request or refuse it. It must go on to serve the others.

mod attachments;
mod beside;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::task::JoinSet;

use super::ask::request::{form, get};
use super::connect::client::{self, Line};
use super::connect::target::Target;
use super::error::BenchError;
use super::tell::tally::Tally;

pub(super) use beside::Beside;

/// The number of people with hostile attachments. A client asks for the records of each.
pub(super) const PEOPLE: usize = 10;
/// The number of clients that send searches with includes.
const SEARCHES: usize = 2;
/// The number of includes of such a search.
const INCLUDES: usize = 70_000;
/// The number of bytes at the beginning of an answer that are kept. The message of a refusal is in them.
const BEGINNING: usize = 256;

/// Hostile requests, one for each client.
#[derive(Clone)]
pub(super) struct Hostile {
    target: Target,
    requests: Vec<Arc<[u8]>>,
}

/// Returns the ids of the people with hostile attachments.
pub(super) fn people() -> impl Iterator<Item = String> {
    (0..PEOPLE).map(|person| format!("hostile-{person}"))
}

/// Returns the records of these people as NDJSON. Each has all hostile attachments.
pub(super) fn records() -> Result<String, BenchError> {
    let files = attachments::all()?;
    let mut lines = String::new();
    for person in people() {
        let _ = writeln!(lines, "{}", json!({"resourceType": "Patient", "id": person}));
        for (place, (content_type, bytes)) in files.iter().enumerate() {
            let attachment = json!({"contentType": content_type, "data": STANDARD.encode(bytes)});
            let document = json!({
                "resourceType": "DocumentReference",
                "id": format!("{person}-{place}"),
                "status": "current",
                "subject": {"reference": format!("Patient/{person}")},
                "content": [{"attachment": attachment}],
            });
            let _ = writeln!(lines, "{document}");
        }
    }
    Ok(lines)
}

impl Hostile {
    /// Prepares the requests. `tokens` are those of [`people`].
    pub(super) fn new(target: &Target, tokens: &[String]) -> Hostile {
        let mut requests = Vec::new();
        for (person, token) in people().zip(tokens) {
            let mut request = Vec::new();
            let path = format!("{}/Patient/{person}/$pdf", target.path);
            get(&path, target, Some(token), &mut request);
            requests.push(request.into());
        }
        let includes = "&_revinclude=*".repeat(INCLUDES);
        for (person, token) in people().zip(tokens).take(SEARCHES) {
            let mut request = Vec::new();
            let body = format!("_id={person}{includes}");
            form("Patient/_search", target, Some(token), body.as_bytes(), &mut request);
            requests.push(request.into());
        }
        Hostile {
            target: target.clone(),
            requests,
        }
    }

    /// Returns the number of clients.
    pub(super) fn clients(&self) -> usize {
        self.requests.len()
    }

    /// Sends the requests again and again until the time is over. Then the connections are closed, even if the server
    /// has not answered yet. Returns the results of all clients.
    pub(super) async fn ask(self, until: Instant) -> Result<Tally, BenchError> {
        let mut tasks = JoinSet::new();
        for request in self.requests {
            let target = self.target.clone();
            tasks.spawn(async move { ask(&target, &request, until).await });
        }
        let mut all = client::tally()?;
        while let Some(tally) = tasks.join_next().await {
            all.add(tally.map_err(std::io::Error::other)??);
        }
        Ok(all)
    }
}

async fn ask(target: &Target, request: &[u8], until: Instant) -> Result<Tally, BenchError> {
    let mut tally = client::tally()?;
    let mut line = Line::new(target, None);
    loop {
        let sent = tokio::time::timeout_at(until.into(), line.send(request, BEGINNING)).await;
        match sent {
            Ok(Ok((answer, took))) => match client::judge(&answer, &line.kept, None) {
                Ok(()) => tally.good(took, answer.bytes),
                Err(status) => {
                    tally.bad(status, || client::message(&line.kept));
                    // A client that is refused at once would send nothing but requests.
                    tokio::time::sleep(client::PAUSE).await;
                }
            },
            Ok(Err(error)) => client::failed(error, &mut tally).await,
            Err(_) => return Ok(tally),
        }
        if Instant::now() >= until {
            return Ok(tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hostile_person_asks_for_a_pdf_and_some_send_includes() {
        let target = Target::parse("http://127.0.0.1:9/fhir").unwrap();
        let tokens: Vec<String> = people().map(|person| format!("token-of-{person}")).collect();
        let hostile = Hostile::new(&target, &tokens);
        assert_eq!(hostile.clients(), PEOPLE + SEARCHES);
        let text = |place: usize| String::from_utf8(hostile.requests[place].to_vec()).unwrap();
        assert!(
            text(1).starts_with("GET /fhir/Patient/hostile-1/$pdf HTTP/1.1\r\n"),
            "{}",
            text(1)
        );
        assert!(text(1).contains("Authorization: Bearer token-of-hostile-1\r\n"));
        let search = text(PEOPLE);
        assert!(search.starts_with("POST /fhir/Patient/_search HTTP/1.1\r\n"));
        assert_eq!(search.matches("&_revinclude=*").count(), INCLUDES);
    }
}
