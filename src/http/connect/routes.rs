//! The routes of the consent flow. Most pages are only for browsers within a flow, so `/openapi.json` does not describe
//! them.

use axum::handler::Handler;
use serde_json::{Value, json};

use super::flow::actions;
use super::flow::entry;
use super::flow::sources::callback;
use super::page::{asset, codes, shown};
use crate::http::routes::{Operation, Route, schema};

const LOCALES: &str = "languages of the pages as BCP 47 names them, the best one first, with spaces between them";
const HTML: &[&str] = &["text/html"];

/// Returns all routes of the flow.
pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::at("/oauth/authorize").get(entry::authorize, authorize("authorize", true)),
        Route::at("/link/auth").get(entry::link_auth, authorize("linkAuthorize", false)),
        Route::at("/link/start").get(entry::link_start, link_start()),
        Route::at("/link/v1/link.js").get(
            asset::link,
            Operation::new(
                "linkComponent",
                "The link component, a script for an application's pages",
            )
            .open()
            .answers(&["text/javascript"], &schema("string", "the script"))
            .response_header(200, "ETag", "of the script"),
        ),
        Route::at("/errors").get(
            codes::index,
            Operation::new("errorCodes", "The error codes of the flow")
                .open()
                .answers(HTML, &page()),
        ),
        Route::at("/errors/{code}").get(
            codes::one,
            Operation::new("errorCode", "What an error code means: the page that error_uri names")
                .open()
                .answers(HTML, &page())
                .response(404, "There is no such code", HTML, &page()),
        ),
        Route::at("/connect").also_get(shown::page_of_session),
        Route::at("/connect/untrusted/{why}").also_get(entry::untrusted),
        Route::at("/connect/find").also_get(shown::find_page),
        Route::at("/connect/organizations").also_get(shown::organizations),
        Route::at("/connect/progress").also_get(shown::progress),
        Route::at("/connect/callback/{endpoint}").also_get(callback::from_source),
        Route::at("/connect/identity/{provider}").also_get(callback::from_provider),
        Route::at("/connect/assets/{name}").also_get(asset::asset),
        Route::at("/favicon.ico").also_get(asset::icon),
        Route::at("/connect/brand.css").also_get(asset::brand_style),
        Route::at("/connect/brand/logo").also_get(asset::brand_logo),
        Route::at("/connect/logo/application/{id}").also_get(asset::application_logo),
        Route::at("/connect/logo/organization/{id}").also_get(asset::organization_logo),
        form("/connect/choose", actions::choose),
        form("/connect/share", actions::share),
        form("/connect/window", actions::window),
        form("/connect/add", actions::add),
        form("/connect/hub", actions::hub),
        form("/connect/remove", actions::remove),
        form("/connect/places", actions::found),
        form("/connect/details", actions::details),
        form("/connect/search", actions::search),
        form("/connect/facilities", actions::facilities),
        form("/connect/identity", actions::identity),
        form("/connect/finish", actions::complete),
        form("/connect/cancel", actions::cancel),
        form("/connect/leave", actions::leave),
        form("/connect/drop", actions::give_up),
        form("/connect/stay", actions::stay),
    ]
}

fn page() -> Value {
    schema("string", "a page")
}

fn form<H, T>(path: &'static str, handler: H) -> Route
where
    H: Handler<T, std::sync::Arc<crate::http::service::Service>>,
    T: 'static,
{
    Route::at(path).also_post(handler)
}

fn authorize(id: &'static str, external_id: bool) -> Operation {
    let text = |about: &str| schema("string", about);
    let only_true = |about: &str| json!({"type": "string", "enum": ["true"], "description": about});
    let operation = Operation::new(id, "Sends a patient's browser into the consent flow")
        .open()
        .required_query("client_id", text("the publishable key"))
        .required_query(
            "redirect_uri",
            text("one that is registered, to the letter; a loopback address with any port"),
        )
        .required_query(
            "response_type",
            json!({"type": "string", "enum": ["code"], "description": "always code"}),
        )
        .required_query(
            "code_challenge",
            json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{43}$", "description": "RFC 7636"}),
        )
        .required_query(
            "code_challenge_method",
            json!({"type": "string", "enum": ["S256"], "description": "always S256 (RFC 7636)"}),
        )
        .required_query(
            "scope",
            text("launch/patient; with offline_access for MULTIPLE usage; others are ignored"),
        );
    let about = "the application's identifier for the user";
    let operation = if external_id {
        operation.required_query("svc_external_id", text(about))
    } else {
        operation.query("svc_external_id", text(about))
    };
    operation
        .query("state", text("comes back with the answer"))
        .query("aud", text("the address of the FHIR API, if it is sent"))
        .query("svc_endpoint_id", text("the endpoint to connect without a choice"))
        .query(
            "svc_ial2_mode",
            only_true("verify the patient's identity and look their providers up"),
        )
        .query("svc_search_mode", only_true("let the patient connect several sources"))
        .query("ui_locales", text(LOCALES))
        .query(
            "svc_resume",
            only_true("go on where this browser left the same request"),
        )
        .query("svc_hint_first_name", text("with svc_search_mode"))
        .query("svc_hint_last_name", text("with svc_search_mode"))
        .query(
            "svc_hint_dob",
            json!({"type": "string", "format": "date", "description": "with svc_search_mode"}),
        )
        .response(303, "Into the flow; or an error, to the redirect URI", &[], &json!({}))
        .response_header(303, "Location", "the first page of the flow, or the redirect URI")
        .response(
            400,
            "A page, where the client or its redirect URI is not known",
            HTML,
            &page(),
        )
}

fn link_start() -> Operation {
    let text = |about: &str| schema("string", about);
    Operation::new("linkStart", "Where the link component begins; not for anybody else")
        .open()
        .required_query("publishable_key", text("of the application"))
        .required_query(
            "origin",
            text("of the page that holds the component; registered with the application"),
        )
        .required_query("channel", text("by which the component knows its answer"))
        .query(
            "display",
            json!({"type": "string", "enum": ["popup", "iframe"], "default": "popup",
                "description": "where the component shows the pages"}),
        )
        .query(
            "usage",
            json!({"type": "string", "enum": ["ONE_TIME", "MULTIPLE"], "default": "ONE_TIME",
                "description": "MULTIPLE requests lasting access"}),
        )
        .query("svc_external_id", text("the application's identifier for the user"))
        .query("svc_endpoint_id", text("the endpoint to connect without a choice"))
        .query("ui_locales", text(LOCALES))
        .query("svc_ial2_mode", text("true, or left out"))
        .query("svc_search_mode", text("true, or left out"))
        .query("svc_hint_first_name", text("with svc_search_mode"))
        .query("svc_hint_last_name", text("with svc_search_mode"))
        .query("svc_hint_dob", text("with svc_search_mode"))
        .response(303, "Into the flow", &[], &json!({}))
        .response_header(303, "Location", "the first page of the flow")
        .response(
            400,
            "A page, where the application or the origin is not known",
            HTML,
            &page(),
        )
}
