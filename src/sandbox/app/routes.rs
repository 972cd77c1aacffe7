//! The application's routes.

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::response::Response;
use axum::routing::{get, post};

use super::client::{AppSettings, Client};
use super::session::Sessions;
use super::{link, overview, record, records, share, start};

/// The application, ready to be served.
pub(in crate::sandbox) struct App {
    pub(super) client: Client,
    pub(super) sessions: Sessions,
}

impl App {
    /// The application of these settings.
    pub(in crate::sandbox) fn new(settings: AppSettings) -> Result<App, reqwest::Error> {
        Ok(App {
            client: Client::new(settings)?,
            sessions: Sessions::default(),
        })
    }
}

/// All that is under `/app`.
pub(in crate::sandbox) fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/app", get(start::show))
        .route("/app/connect", post(start::connect))
        .route("/app/callback", get(start::callback))
        .route("/app/code", get(start::code))
        .route("/app/link", get(link::show))
        .route("/app/link.js", get(link::script))
        .route("/app/link/exchange", post(link::exchange))
        .route("/app/records", get(records::show))
        .route("/app/overview", get(overview::show))
        .route("/app/record/summary", get(record::summary))
        .route("/app/record/pdf", get(record::pdf))
        .route("/app/record/everything", get(record::everything))
        .route("/app/record/card", post(share::card))
        .route("/app/share", get(share::show).post(share::make))
        .route("/app/share/end", post(share::end))
        .route("/app/refresh", post(records::refresh))
        .route("/app/introspect", post(records::introspect))
        .route("/app/revoke", post(records::revoke))
        .with_state(app)
}

/// The answer with a cookie, where there is one to set.
pub(super) fn with_cookie(mut response: Response, cookie: Option<String>) -> Response {
    if let Some(value) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    response
}
