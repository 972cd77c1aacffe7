//! The state that all of the application's routes share.

use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use super::client::{AppSettings, Client};
use super::session::Sessions;

/// The application, ready to be served.
pub(in crate::sandbox) struct App {
    pub(super) client: Client,
    pub(super) sessions: Sessions,
}

impl App {
    /// Creates the application with these settings.
    pub(in crate::sandbox) fn new(settings: AppSettings) -> Result<App, reqwest::Error> {
        Ok(App {
            client: Client::new(settings)?,
            sessions: Sessions::default(),
        })
    }
}

/// Adds the cookie to the response, if there is one to set.
pub(super) fn with_cookie(mut response: Response, cookie: Option<String>) -> Response {
    if let Some(value) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    response
}
