//! The application's routes.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{get, post};
use url::Url;

use super::state::App;
use super::{developer, link, overview, pages, profile, record, records, share, start};
use crate::sandbox::payer::answer::body;

/// Returns all routes under `/app`.
pub(in crate::sandbox) fn routes(app: Arc<App>) -> Router {
    let service = Url::parse(&app.client.settings.service);
    let service = service.map_or_else(|_| String::new(), |url| url.origin().ascii_serialization());
    Router::new()
        .route("/app", get(start::show))
        .route("/app/connect", post(start::connect))
        .route("/app/callback", get(start::callback))
        .route("/app/code", get(start::code))
        .route("/app/link", get(link::show))
        .route("/app/link.js", get(link::script))
        .route("/app/link/exchange", post(link::exchange))
        .route("/app/privacy", get(profile::privacy))
        .route("/app/terms", get(profile::terms))
        .route("/app/style.css", get(style))
        .route("/app/wait.js", get(wait_script))
        .route("/app/records", get(records::show))
        .route("/app/medicines", get(records::show_medicines))
        .route("/app/visits", get(records::show_visits))
        .route("/app/results", get(records::show_results))
        .route("/app/developer", get(developer::show))
        .route("/app/overview", get(overview::show))
        .route("/app/record/summary", get(record::summary))
        .route("/app/record/pdf", get(record::pdf))
        .route("/app/record/everything", get(record::everything))
        .route("/app/record/card", post(share::card))
        .route("/app/share", get(share::show).post(share::make))
        .route("/app/share/end", post(share::end))
        .route("/app/refresh", post(developer::refresh))
        .route("/app/introspect", post(developer::introspect))
        .route("/app/revoke", post(developer::revoke))
        .layer(map_response(move |response: Response| {
            let bounded = pages::bounded(response, &service);
            async move { bounded }
        }))
        .with_state(app)
}

/// Returns the style sheet of all pages.
async fn style() -> Response {
    let text = include_str!("../../../templates/sandbox/app/style.css");
    body(StatusCode::OK, "text/css; charset=utf-8", text)
}

/// Returns the script with which a page checks again whether the records are there.
async fn wait_script() -> Response {
    let text = include_str!("../../../templates/sandbox/app/wait.js");
    body(StatusCode::OK, "text/javascript; charset=utf-8", text)
}
