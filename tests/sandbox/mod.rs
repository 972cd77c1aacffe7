//! The sandbox over HTTP, as used by a SMART client, a person at its pages, and a test that sets its knobs.

mod app;
mod facilities;
mod knobs;
mod login;
mod records;

use serde_json::Value;

use crate::harness::payer::{Payer, parameter};
use tabularium::sandbox::payer::CLIENT_ID;

const BACK: &str = "http://127.0.0.1:9/back";
const EVERYTHING: &str = "launch/patient offline_access patient/*.read";

/// The token response for a person who agrees to everything.
fn connected(payer: &Payer, organization: &str, user: &str) -> Value {
    let (url, verifier) = payer.authorization_url(organization, BACK, EVERYTHING);
    let back = payer.log_in(&url, user);
    let code = parameter(&back, "code").unwrap_or_else(|| panic!("no code: {back}"));
    let reply = payer.form(&format!("/{organization}/token"), &exchange(&code, &verifier));
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.value()
}

/// The form that redeems a code.
fn exchange<'a>(code: &'a str, verifier: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", BACK),
        ("code_verifier", verifier),
        ("client_id", CLIENT_ID),
    ]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
