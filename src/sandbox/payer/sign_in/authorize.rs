//! The authorization endpoint: which parameters a request needs, and where errors are shown.
//!
//! Invariant: nobody is redirected to a redirect URI that is not allowed. An error that is found before the redirect
//! URI is checked is shown on a page.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::super::answer::{back, see_other};
use super::super::office::organization::{CLIENT_ID, Kind};
use super::super::office::state::Office;
use super::super::office::world::World;
use super::super::params::Params;
use super::super::records::pages::message;
use super::grants::Flow;
use super::scopes::Requested;

/// The parameters that must not be repeated.
const SINGLE: &[&str] = &[
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "aud",
    "nonce",
    "code_challenge",
    "code_challenge_method",
];

/// The reason why a request is refused: the error code and its description.
struct Refusal(&'static str, String);

/// Answers an authorization request: begins a flow, and redirects to the login page.
pub(in crate::sandbox::payer) async fn authorize(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(office) = portal(&world, &organization) else {
        return no_portal();
    };
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    if let Err(error) = params.single(&["client_id", "redirect_uri"]) {
        return refused(&error.to_string());
    }
    if params.text("client_id") != CLIENT_ID {
        return refused("The application is not registered here: its client_id is unknown.");
    }
    let redirect_uri = params.text("redirect_uri");
    if !office.admits(redirect_uri) {
        return refused("The application's redirect_uri is not registered here.");
    }
    match checked(&world, office, &params) {
        Ok(flow) => {
            let name = office.grants().begin(flow);
            see_other(&format!("{}/{organization}/login?flow={name}", world.base_url))
        }
        Err(Refusal(error, description)) => {
            let mut parameters = vec![("error", error), ("error_description", description.as_str())];
            parameters.extend(params.get("state").map(|state| ("state", state)));
            back(redirect_uri, &parameters)
        }
    }
}

/// Returns the organization with this id, if people log in there. `None` for a facility, because it has no login.
pub(in crate::sandbox::payer) fn portal<'w>(world: &'w World, organization: &str) -> Option<&'w Office> {
    world
        .office(organization)
        .filter(|office| office.organization.kind != Kind::Facility)
}

/// Returns the page for an organization without logins.
pub(in crate::sandbox::payer) fn no_portal() -> Response {
    message(
        StatusCode::NOT_FOUND,
        "Nothing here",
        "There is no organization of this name that people log in to.",
    )
}

fn refused(text: &str) -> Response {
    message(StatusCode::BAD_REQUEST, "This request cannot be taken up", text)
}

fn checked(world: &World, office: &Office, params: &Params) -> Result<Flow, Refusal> {
    let invalid = |text: &str| Refusal("invalid_request", text.to_owned());
    params.single(SINGLE).map_err(|error| invalid(&error.to_string()))?;
    match params.get("response_type") {
        Some("code") => {}
        Some(_) => {
            return Err(Refusal(
                "unsupported_response_type",
                "response_type must be code".to_owned(),
            ));
        }
        None => return Err(invalid("response_type is missing")),
    }
    let state = params.get("state").filter(|state| !state.is_empty());
    let state = state.ok_or_else(|| invalid("state is missing"))?.to_owned();
    if params.get("code_challenge_method") != Some("S256") {
        return Err(invalid("code_challenge_method must be S256"));
    }
    let challenge = params.text("code_challenge");
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if challenge.len() != 43 || !challenge.bytes().all(sound) {
        return Err(invalid("code_challenge must be 43 characters of base64url"));
    }
    let requested = Requested::parse(params.text("scope"));
    if office.organization.kind == Kind::Identity {
        if !requested.has("openid") {
            return Err(Refusal("invalid_scope", "scope must include openid".to_owned()));
        }
    } else {
        let base = world.fhir_base(office);
        if params.text("aud").trim_end_matches('/') != base {
            return Err(invalid(&format!("aud must be {base}")));
        }
        if requested.offered(office.organization, &[]).is_empty() {
            return Err(Refusal(
                "invalid_scope",
                "scope must include patient/*.read, or a resource type that is held here".to_owned(),
            ));
        }
    }
    Ok(Flow {
        client: CLIENT_ID.to_owned(),
        redirect_uri: params.text("redirect_uri").to_owned(),
        state,
        challenge: challenge.to_owned(),
        nonce: params.get("nonce").map(str::to_owned),
        requested,
        person: None,
    })
}
