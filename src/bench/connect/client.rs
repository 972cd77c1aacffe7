//! One client: a connection with one request at a time. The client judges each answer by its status and its beginning.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::ask::dice::Dice;
use super::super::ask::mix::Who;
use super::super::ask::plan::{Plan, Ready};
use super::super::ask::row::{Field, Row};
use super::super::error::BenchError;
use super::super::tell::tally::Tally;
use super::connection::{Answer, Connection, ExchangeError};
use super::target::Target;
use super::tls::Tls;

/// The number of bytes at the beginning of an answer in which the client looks for the resource type.
const BEGINNING: usize = 256;
/// How long a client waits after a request that got no answer, for example because it could not connect. It does not
/// wait after a timeout.
pub(in crate::bench) const PAUSE: Duration = Duration::from_millis(50);
/// The maximum length of a server's message in the report, in characters.
const MESSAGE: usize = 300;

/// The data that all clients of a run share.
pub(in crate::bench) struct Job {
    pub(in crate::bench) target: Target,
    pub(in crate::bench) tls: Option<Tls>,
    pub(in crate::bench) plan: Plan,
    pub(in crate::bench) tokens: Tokens,
}

/// The tokens of requests.
#[derive(Clone, Default)]
pub(in crate::bench) struct Tokens {
    /// The application's token. `None` for a server without authorization.
    pub(in crate::bench) application: Option<Arc<str>>,
    /// The tokens of Patients, by the Patient's id. A Patient without a token here uses the application's token.
    pub(in crate::bench) patients: Arc<HashMap<Box<str>, Arc<str>>>,
}

impl Tokens {
    /// Returns the token for a request about `row`. For [`Who::Patient`] it is the token of the row's Patient, if there
    /// is one. Otherwise it is the application's token.
    pub(in crate::bench) fn of(&self, who: Who, row: &Row) -> Option<&str> {
        let own = match who {
            Who::Application => None,
            Who::Patient => row.get(Field::Patient).and_then(|patient| self.patients.get(patient)),
        };
        own.or(self.application.as_ref()).map(|token| &**token)
    }
}

/// A client's connection to the server. A request opens a new connection if there is none, or if the last one cannot be
/// used again.
pub(in crate::bench) struct Line<'a> {
    target: &'a Target,
    tls: Option<&'a Tls>,
    connection: Option<Connection>,
    /// The first bytes of the last answer's body. `send` decides how many bytes are kept.
    pub(in crate::bench) kept: Vec<u8>,
}

impl<'a> Line<'a> {
    pub(in crate::bench) fn new(target: &'a Target, tls: Option<&'a Tls>) -> Line<'a> {
        Line {
            target,
            tls,
            connection: None,
            kept: Vec::new(),
        }
    }

    /// Sends a request. Returns the answer and the time that it took, without the time for connecting. `kept` then
    /// holds the first `keep` bytes of the body.
    pub(in crate::bench) async fn send(
        &mut self,
        request: &[u8],
        keep: usize,
    ) -> Result<(Answer, Duration), ExchangeError> {
        loop {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => Connection::open(self.target, self.tls).await?,
            };
            let begun = Instant::now();
            match connection.exchange(request, keep, &mut self.kept).await {
                Ok(answer) => {
                    let took = begun.elapsed();
                    if !answer.last {
                        self.connection = Some(connection);
                    }
                    return Ok((answer, took));
                }
                // The server closed the connection while it was idle. So send the request again over a new connection.
                Err(ExchangeError::Stale) if connection.used() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Sends requests until the time is over, but at least one. Stops early if the server refuses the token.
pub(in crate::bench) async fn timed(job: Arc<Job>, mut dice: Dice, until: Instant) -> Result<Tally, BenchError> {
    let mut tally = tally()?;
    let mut line = Line::new(&job.target, job.tls.as_ref());
    let mut request = Vec::new();
    loop {
        let drawn = job
            .plan
            .draw(&mut dice)
            .and_then(|ready| Some((ready, ready.row(&mut dice)?)));
        let Some((ready, row)) = drawn else { return Ok(tally) };
        ask(&job, ready, row, &mut dice, &mut line, &mut request, &mut tally).await;
        if Instant::now() >= until || tally.is_shut_out() {
            return Ok(tally);
        }
    }
}

/// Sends one request for each group of rows, which are the rows of one person. Stops when all are sent or the time is
/// over.
pub(in crate::bench) async fn once(job: Arc<Job>, mut dice: Dice, until: Instant) -> Result<Tally, BenchError> {
    let mut tally = tally()?;
    let mut line = Line::new(&job.target, job.tls.as_ref());
    let mut request = Vec::new();
    for ready in &job.plan.queries {
        for group in &ready.groups {
            let Some(row) = dice.one_of(group) else { continue };
            ask(&job, ready, row, &mut dice, &mut line, &mut request, &mut tally).await;
            if Instant::now() >= until {
                return Ok(tally);
            }
        }
    }
    Ok(tally)
}

/// Creates an empty tally.
pub(in crate::bench) fn tally() -> Result<Tally, BenchError> {
    Tally::new().map_err(|error| BenchError::Io(std::io::Error::other(error)))
}

async fn ask(
    job: &Job,
    ready: &Ready,
    row: &Row,
    dice: &mut Dice,
    line: &mut Line<'_>,
    request: &mut Vec<u8>,
    tally: &mut Tally,
) {
    let token = job.tokens.of(ready.query.token, row);
    ready.request(row, &job.target, token, dice, request);
    match line.send(request, BEGINNING).await {
        Ok((answer, took)) => match judge(&answer, &line.kept, ready.expects) {
            Ok(()) => tally.good(took, answer.bytes),
            Err(sort) => tally.bad(sort, || message(&line.kept)),
        },
        Err(error) => failed(error, tally).await,
    }
}

/// Counts a request that got no answer. Then waits for `PAUSE`, unless the request timed out.
pub(in crate::bench) async fn failed(error: ExchangeError, tally: &mut Tally) {
    let sort = match &error {
        ExchangeError::Late => "timeout",
        _ => "connection",
    };
    tally.bad(sort.to_owned(), || error.to_string());
    if !matches!(error, ExchangeError::Late) {
        tokio::time::sleep(PAUSE).await;
    }
}

/// Judges an answer by its status and its resource type. The error of a bad answer is its status, or "other resource"
/// if the type is not `expects`. An answer whose type is not found counts as good.
pub(in crate::bench) fn judge(answer: &Answer, kept: &[u8], expects: Option<&str>) -> Result<(), String> {
    if !(200..300).contains(&answer.status) {
        return Err(answer.status.to_string());
    }
    match expects.zip(resource_type(kept)) {
        Some((expected, found)) if expected.as_bytes() != found => Err("other resource".to_owned()),
        _ => Ok(()),
    }
}

/// Returns the resource type at the beginning of a JSON text, if it is there.
fn resource_type(text: &[u8]) -> Option<&[u8]> {
    let text = &text[..text.len().min(BEGINNING)];
    let key = b"\"resourceType\"";
    let at = memchr::memmem::find(text, key)?;
    let rest = text[at + key.len()..].trim_ascii_start().strip_prefix(b":")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    Some(&rest[..memchr::memchr(b'"', rest)?])
}

/// Returns the message of an OperationOutcome, or an empty text for another body. Other bodies may be records, so none
/// of their text is used.
pub(in crate::bench) fn message(body: &[u8]) -> String {
    let Ok(outcome) = serde_json::from_slice::<Value>(body) else {
        return String::new();
    };
    if outcome["resourceType"] != "OperationOutcome" {
        return String::new();
    }
    let issue = &outcome["issue"][0];
    let said = [&issue["details"]["text"], &issue["diagnostics"], &issue["code"]];
    let text = said.into_iter().find_map(Value::as_str).unwrap_or_default();
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Remove control characters, because terminals will show the message.
    text.chars().filter(|char| !char.is_control()).take(MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged_by_status_and_beginning() {
        let judged = |status, body: &str, expects| {
            let answer = Answer {
                status,
                bytes: 0,
                last: false,
            };
            judge(&answer, body.as_bytes(), expects)
        };
        let bundle = r#"{ "resourceType" : "Bundle", "id""#;
        assert_eq!(judged(200, bundle, Some("Bundle")), Ok(()));
        assert_eq!(judged(200, bundle, None), Ok(()));
        assert_eq!(judged(200, bundle, Some("Patient")), Err("other resource".to_owned()));
        assert_eq!(judged(200, "a,b", Some("Patient")), Ok(()));
        assert_eq!(judged(500, bundle, Some("Bundle")), Err("500".to_owned()));
        assert_eq!(judged(304, "", None), Err("304".to_owned()));
        for odd in [
            "",
            "\"resourceType\"",
            "\"resourceType\":",
            "\"resourceType\":\"",
            "\"resourceType\":\"x",
        ] {
            assert_eq!(judged(200, odd, Some("Bundle")), Ok(()), "{odd}");
        }
    }

    #[test]
    fn only_outcomes_are_repeated() {
        let outcome =
            br#"{"resourceType":"OperationOutcome","issue":[{"code":"invalid","details":{"text":"no\n such"}}]}"#;
        assert_eq!(message(outcome), "no such");
        let outcome = br#"{"resourceType":"OperationOutcome","issue":[{"code":"invalid"}]}"#;
        assert_eq!(message(outcome), "invalid");
        assert_eq!(message(br#"{"resourceType":"Patient","name":[{"family":"Park"}]}"#), "");
        assert_eq!(message(b"<html>"), "");
        let long = format!(
            r#"{{"resourceType":"OperationOutcome","issue":[{{"diagnostics":"{}"}}]}}"#,
            "x".repeat(999)
        );
        assert_eq!(message(long.as_bytes()).len(), MESSAGE);
    }
}
