//! The routes of the OAuth API, and their part of the OpenAPI document.

use super::described::{BODIES, count, grant, introspection, secret, tokens};
use super::{introspect, registration, revoke, token};
use crate::http::routes::{Operation, Route};

const JSON: [&str; 1] = ["application/json"];

/// Returns the routes of the OAuth API.
pub(in crate::http) fn routes() -> Vec<Route> {
    let token = Operation::new(
        "token",
        "Tokens for an authorization code, a refresh token or a key pair",
    )
    .by_key_pair_or_body()
    .body(&BODIES, "The grant", &grant())
    .response(200, "Tokens, which nobody may keep in a cache", &JSON, &tokens());
    let introspect = Operation::new(
        "introspect",
        "What a patient token stands for, and whether it is good still",
    )
    .response(
        200,
        "The token's claims, its consent and how far its records are",
        &JSON,
        &introspection(),
    );
    let revoke = Operation::new(
        "revoke",
        "End the consent of a patient token, with its tokens and its records",
    )
    .body(&BODIES, "The secret key of the application and mode", &secret())
    .response(200, "How many patient authorizations were ended", &JSON, &count());
    vec![
        Route::at("/oauth/token").post(token::token, token),
        Route::at("/oauth/introspect").get(introspect::introspect, introspect),
        Route::at("/oauth/revoke").post(revoke::revoke, revoke),
    ]
    .into_iter()
    .chain(registration::routes())
    .collect()
}
