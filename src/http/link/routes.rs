//! The routes of the link API, and their part of the OpenAPI document.

use serde_json::{Value, json};

use super::{exchange, introspect, revoke, token};
use crate::http::oauth::described::{BODIES, count, grant, introspection, link_tokens, secret};
use crate::http::routes::{Operation, Route, named, object, or_null};
use crate::http::shape::described::{endpoint, max_auth, sync, usage, user};

const JSON: [&str; 1] = ["application/json"];

/// Returns the routes of the link API.
pub(in crate::http) fn routes() -> Vec<Route> {
    let exchange = Operation::new("linkExchange", "Tokens for the public token of the link component")
        .open()
        .body(
            &BODIES,
            "The public token, and the secret key of the application",
            &public_token(),
        )
        .response(200, "Tokens, and how far the records are", &JSON, &exchanged());
    let introspect = Operation::new(
        "linkIntrospect",
        "What a patient token stands for, and whether it is good still",
    )
    .response(
        200,
        "The token's claims, its authorization and how far its records are",
        &JSON,
        &introspection(),
    );
    let about = "Tokens for a refresh token, a key pair or an authorization code; a refresh also fetches fresh records, \
                 and is refused with 422 where no source gave records and none can be asked again";
    let token = Operation::new("linkToken", about)
        .by_key_pair_or_body()
        .body(&BODIES, "The grant", &grant())
        .response(
            200,
            "Tokens, of a refresh with how far the records are",
            &JSON,
            &link_tokens(),
        );
    let about = "End every link of the token's user to the token's endpoint, with their tokens and records";
    let revoke = Operation::new("linkRevoke", about)
        .body(&BODIES, "The secret key of the application and mode", &secret())
        .response(200, "How many links were ended", &JSON, &count());
    vec![
        Route::at("/link/exchange").post(exchange::exchange, exchange),
        Route::at("/link/introspect").get(introspect::introspect, introspect),
        Route::at("/link/token").post(token::token, token),
        Route::at("/link/revoke").post(revoke::revoke, revoke),
    ]
}

fn public_token() -> Value {
    let properties = json!({"public_token": {"type": "string"}, "secret_key": {"type": "string"}});
    named("PublicToken", object(&["public_token", "secret_key"], properties))
}

/// Returns the schema of the response to an exchange.
fn exchanged() -> Value {
    let seconds = "seconds for which the token can be refreshed; null where there is nothing to refresh";
    let properties = json!({
        "access_token": {"type": "string"},
        "expires_in": {"type": "integer"},
        "usage": usage(),
        "refresh_token": {"type": "string", "description": "for MULTIPLE usage"},
        "refresh_expires_in": {"type": ["integer", "null"], "description": seconds},
        "patient": {"type": ["string", "null"], "description": "Patient/id"},
        "user": or_null(&user()),
        "endpoint": or_null(&endpoint()),
        "sync": sync(),
        "timeUntilMaxAuth": max_auth(),
    });
    let required = [
        "access_token",
        "expires_in",
        "usage",
        "refresh_expires_in",
        "patient",
        "user",
        "endpoint",
        "sync",
        "timeUntilMaxAuth",
    ];
    named("LinkExchange", object(&required, properties))
}
