//! The operations of health links, for the OpenAPI document.

use serde_json::{Value, json};

use super::request::{LONGEST_LABEL, LONGEST_PASSCODE, SHORTEST_PASSCODE};
use super::resolve::LONGEST_RECIPIENT;
use crate::consent::LinkContent;
use crate::http::routes::{Operation, list as list_of, named, object, one_of, or_null, schema};

const JSON: &[&str] = &["application/json"];
const JOSE: &[&str] = &["application/jose"];

pub(super) fn create() -> Operation {
    let mut members = members();
    members["link"] = schema(
        "string",
        "shlink:/ and the payload; it holds the key, which is not kept here",
    );
    members["viewerUrl"] = schema("string", "the same link behind the address of the page that opens it");
    members["qr"] = object(
        &["png", "svg"],
        json!({"png": schema("string", "a data: URL"), "svg": schema("string", "a data: URL")}),
    );
    let required = [&REQUIRED[..], &["link", "viewerUrl", "qr"]].concat();
    let asked = json!({
        "content": content(),
        "label": {"type": "string", "maxLength": LONGEST_LABEL, "description": "what the link is for; recipients see it"},
        "passcode": {"type": "string", "minLength": SHORTEST_PASSCODE, "maxLength": LONGEST_PASSCODE,
            "description": "what a recipient has to know besides the link"},
        "exp": {"type": "integer", "description": "when the link ends, in seconds since 1970: by default in 30 days, at most \
            in a year; a consent that ends earlier ends the link"},
        "flag": {"type": "string", "enum": ["", "P", "U"], "description": "P with a passcode, which needs no flag; U for a \
            file without a manifest"},
    });
    Operation::new(
        "createHealthLink",
        "Makes a SMART Health Link to the patient's summary, or to all records as a health card",
    )
    .body(
        JSON,
        "What the link is like; every member may be left out",
        &named("NewHealthLink", object(&[], asked)),
    )
    .body_example(JSON[0], json!({"content": "summary", "label": "For Dr. Ames"}))
    .response(
        201,
        "The link, this once",
        JSON,
        &named("CreatedHealthLink", object(&required, members)),
    )
}

pub(super) fn list() -> Operation {
    let links = list_of(&named("HealthLink", object(&REQUIRED, members())));
    let answer = named("HealthLinks", object(&["healthLinks"], json!({"healthLinks": links})));
    Operation::new(
        "healthLinks",
        "The SMART Health Links of a patient token's consent, newest first",
    )
    .answers(JSON, &answer)
}

pub(super) fn revoke() -> Operation {
    Operation::new("revokeHealthLink", "Ends a SMART Health Link").response(
        204,
        "It has ended, and its file is deleted",
        &[],
        &json!({}),
    )
}

pub(super) fn manifest() -> Operation {
    let asked = json!({
        "recipient": {"type": "string", "description": format!("who asks, for the patient to see; the first \
            {LONGEST_RECIPIENT} letters are kept")},
        "passcode": schema("string", "where the link has flag P"),
        "embeddedLengthMax": {"type": "integer", "minimum": 0, "description": "the longest file to be put into the answer; \
            a longer one has a location"},
    });
    let file = json!({
        "contentType": one_of(LinkContent::ALL.iter().map(|content| content.media_type())),
        "embedded": schema("string", "the file: a compact JWE"),
        "location": schema("string", "where the file is, for an hour"),
        "lastUpdated": {"type": "string", "format": "date-time"},
        "status": one_of(["finalized"]),
        "fhirVersion": one_of(["4.0.1"]),
    });
    let file = object(&["contentType", "lastUpdated", "status"], file);
    let manifest = object(&["files"], json!({"files": list_of(&named("HealthLinkFile", file))}));
    let remaining = json!({"remainingAttempts": {"type": "integer", "minimum": 0}});
    Operation::new("healthLinkManifest", "What a SMART Health Link leads to")
        .open()
        .body(
            JSON,
            "Who asks",
            &named("HealthLinkRequest", object(&["recipient"], asked)),
        )
        .answers(JSON, &named("HealthLinkManifest", manifest))
        .response(
            401,
            "The passcode is missing or wrong; how many more tries there are",
            JSON,
            &named("RemainingAttempts", object(&["remainingAttempts"], remaining)),
        )
        .response_header(401, "WWW-Authenticate", "that a passcode is needed")
}

pub(super) fn direct() -> Operation {
    Operation::new("healthLinkFile", "The file of a SMART Health Link with flag U")
        .open()
        .required_query("recipient", schema("string", "who asks, for the patient to see"))
        .answers(JOSE, &jwe())
}

pub(super) fn located() -> Operation {
    Operation::new("locatedHealthLinkFile", "A file that a manifest leads to")
        .open()
        .answers(JOSE, &jwe())
}

pub(super) fn page() -> Operation {
    Operation::new(
        "healthLinkPage",
        "A page that opens a SMART Health Link, which stands behind #",
    )
    .open()
    .answers(&["text/html"], &schema("string", "a page"))
}

const REQUIRED: [&str; 9] = [
    "id",
    "content",
    "label",
    "flag",
    "createdAt",
    "expiresAt",
    "uses",
    "lastUsedAt",
    "lastRecipient",
];

fn members() -> Value {
    let time = json!({"type": "string", "format": "date-time"});
    json!({
        "id": schema("string", "by which it is revoked"),
        "content": content(),
        "label": {"type": ["string", "null"]},
        "flag": one_of(["", "P", "U"]),
        "createdAt": or_null(&time),
        "expiresAt": or_null(&time),
        "remainingAttempts": {"type": "integer", "description": "wrong passcodes until it ends; with flag P only"},
        "uses": {"type": "integer", "description": "how often its file was given out"},
        "lastUsedAt": or_null(&time),
        "lastRecipient": {"type": ["string", "null"], "description": "as the recipient named itself"},
    })
}

fn content() -> Value {
    named(
        "HealthLinkContent",
        one_of(LinkContent::ALL.iter().map(|content| content.name())),
    )
}

fn jwe() -> Value {
    schema("string", "the file: a compact JWE")
}
