//! The headers of responses in the OpenAPI document: those that every response may have, and those of refusals.

use serde_json::{Map, Value, json};

/// The headers of every response, with their descriptions.
const ALL: [(&str, &str); 4] = [
    ("X-Request-Id", "the id of the request, for questions about it"),
    (
        "X-RateLimit-Limit",
        "how many requests the caller may send at once; only of a server with rate limits",
    ),
    (
        "X-RateLimit-Remaining",
        "how many requests the caller may still send now; only of a server with rate limits",
    ),
    (
        "X-RateLimit-Reset",
        "the seconds until the caller may send the full number of requests again; only of a server with rate limits",
    ),
];

/// The statuses of refusals that are described by themselves.
pub(super) const REFUSED: [u16; 2] = [401, 429];

/// Returns the components of headers.
pub(super) fn components() -> Map<String, Value> {
    let one = |(name, about): &(&str, &str)| ((*name).to_owned(), header(about));
    ALL.iter().map(one).collect()
}

/// Adds the headers of every response to a response.
pub(super) fn add_all(response: &mut Value) {
    for (name, _) in ALL {
        response["headers"][name] = json!({"$ref": format!("#/components/headers/{name}")});
    }
}

/// The headers of an answer that confirm a header of the request: the request's, the answer's, and its description.
const WISHED: [(&str, &str, &str); 2] = [
    ("Prefer", "Preference-Applied", "what of Prefer was followed"),
    ("X-Explain", "Server-Timing", "with X-Explain: how long each step took"),
];

/// Adds the headers that answer to headers which the request may have.
pub(super) fn add_wished(response: &mut Value, is_sent: impl Fn(&str) -> bool) {
    for (_, name, about) in WISHED.iter().filter(|(sent, ..)| is_sent(sent)) {
        response["headers"][name] = header(about);
    }
}

/// Adds the headers of a refusal. `status` is `None` for the response that stands for all statuses. `is_fhir`: whether
/// the refusal is of a FHIR route.
pub(super) fn add_refused(response: &mut Value, status: Option<u16>, is_fhir: bool) {
    let with = |number: u16| status.is_none_or(|status| status == number);
    let of = |number: u16, about: &str| match status {
        Some(_) => about.to_owned(),
        None => format!("with {number}: {about}"),
    };
    let mut add = |name: &str, about: String| response["headers"][name] = header(&about);
    if with(401) {
        add(
            "WWW-Authenticate",
            of(
                401,
                "which credential the route takes, and what is wrong with the one that came",
            ),
        );
    }
    if with(429) {
        add(
            "Retry-After",
            of(429, "after how many seconds the caller may try again"),
        );
        if is_fhir {
            let about = "the same, while the patient's records are fetched for the first time";
            add("X-Retry-After", of(429, about));
        }
    }
    if status.is_none() {
        add("Allow", of(405, "the methods that the route answers"));
        add("Accept-Encoding", of(415, "the content codings that bodies may have"));
        add("Content-Range", of(416, "the length of the whole"));
    }
}

fn header(about: &str) -> Value {
    json!({"description": about, "schema": {"type": "string"}})
}
