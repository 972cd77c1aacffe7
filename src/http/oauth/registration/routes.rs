//! The routes of registrations, and their part of the OpenAPI document.

use serde_json::Value;

use super::described::{change, registered, registration};
use super::{manage, register};
use crate::http::routes::{Operation, Route};

const JSON: [&str; 1] = ["application/json"];

/// Returns the routes of registrations.
pub(in crate::http::oauth) fn routes() -> Vec<Route> {
    let about = "Register a client (RFC 7591): of test mode, with an initial access token of live mode";
    let register = Operation::new("register", about)
        .open()
        .body(&JSON, "The client's metadata", &registration())
        .response(
            201,
            "The client with its keys, which are told this once",
            &JSON,
            &registered(),
        );
    let read = Operation::new("registration", "The client of a registration access token (RFC 7592)")
        .by_registration_token()
        .response(200, "The client, without its secret key", &JSON, &registered());
    let about = "Replace all metadata of the client of a registration access token, and make new keys if asked to";
    let update = Operation::new("updateRegistration", about)
        .by_registration_token()
        .body(&JSON, "The client_id and all of the client's metadata", &change())
        .response(
            200,
            "The client as it is now, with a new registration access token and, if they were asked for, new keys",
            &JSON,
            &registered(),
        );
    let about = "End the client of a registration access token, with its keys, its consents, their tokens and records";
    let end = Operation::new("endRegistration", about)
        .by_registration_token()
        .response(204, "It has ended", &[], &Value::Null);
    vec![
        Route::at("/oauth/register").post(register::register, register),
        Route::at("/oauth/register/{client_id}")
            .get(manage::read, read)
            .put(manage::update, update)
            .delete(manage::end, end),
    ]
}
