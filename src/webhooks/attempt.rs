//! One attempt: the request of a message, and what the answer means.

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::signature::sign;
use crate::consent::{Outcome, Outgoing};
use crate::sync::client::Client;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// The status by which a receiver says that it wants no more events.
const GONE: u16 = 410;

/// Posts a message, signed for the time `now`.
pub(super) async fn attempt(client: &Client, message: &Outgoing, now: i64) -> Outcome {
    let Some(headers) = headers(message, now) else {
        return failed(None, "the message could not be signed", None);
    };
    let posted = client
        .post(&message.url, headers, message.body.clone().into_bytes())
        .await;
    match posted {
        Ok(answer) if (200..300).contains(&answer.status) => Outcome::Accepted(answer.status),
        Ok(answer) if answer.status == GONE => Outcome::Gone,
        Ok(answer) if (300..400).contains(&answer.status) => failed(
            Some(answer.status),
            "it answered with a redirect, which is not followed",
            None,
        ),
        Ok(answer) => {
            let why = format!("it answered with status {}", answer.status);
            failed(Some(answer.status), &why, answer.retry_after)
        }
        // Errors of the client name hosts only.
        Err(error) => failed(None, &error.to_string(), None),
    }
}

fn failed(status: Option<u16>, why: &str, retry_after: Option<u64>) -> Outcome {
    Outcome::Failed {
        status,
        why: why.to_owned(),
        retry_after,
    }
}

/// Returns the headers of a message. `None` if it has no secret, or a value is no text of a header.
fn headers(message: &Outgoing, now: i64) -> Option<HeaderMap> {
    let signature = sign(&message.secrets, &message.event, now, message.body.as_bytes());
    if signature.is_empty() {
        return None;
    }
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ID, message.event.parse().ok()?);
    headers.insert(TIMESTAMP, now.into());
    headers.insert(SIGNATURE, signature.parse().ok()?);
    Some(headers)
}
