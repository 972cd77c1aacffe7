//! Serves the console's style sheet and the service's logo, which are built in.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::http::console::session::operator::is_on;
use crate::http::error::Error;
use crate::http::service::Service;

/// Answers `GET /console/assets/{name}` with a built-in file.
pub(in crate::http::console) async fn asset(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
) -> Result<Response, Response> {
    is_on(&service).map_err(IntoResponse::into_response)?;
    let (media, body) = match name.as_str() {
        "console.css" => (
            "text/css; charset=utf-8",
            include_str!("../../../../templates/console/console.css"),
        ),
        "mark.svg" => (
            "image/svg+xml",
            include_str!("../../../../templates/connect/assets/mark.svg"),
        ),
        _ => return Err(Error::NoFile.into_response()),
    };
    Ok(([(CONTENT_TYPE, media), (CACHE_CONTROL, "public, max-age=300")], body).into_response())
}
