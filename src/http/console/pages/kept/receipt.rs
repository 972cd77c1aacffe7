//! Shows an erasure and its receipt.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::columns::json::pretty;
use crate::consent::receipt_digest;
use crate::http::console::session::operator::Operator;
use crate::http::console::shown::page::{Frame, html, page_or_error};
use crate::http::console::shown::words::{self, Moment};
use crate::http::error::Error;
use crate::http::service::Service;

#[derive(Template)]
#[template(path = "console/receipt.html")]
struct Receipt<'a> {
    frame: &'a Frame,
    id: String,
    asked: Moment,
    how: String,
    digest: Option<String>,
    receipt: Option<String>,
    claims: String,
}

/// Answers `GET /console/kept/erasures/{id}`: shows an erasure and its receipt.
pub(in crate::http::console) async fn receipt(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(id): Path<String>,
) -> Response {
    let frame = operator.frame(&service, "kept", None);
    let work = async {
        let reading = service.blocking(move |service| service.store.erasure_jobs().get(&id));
        let job = reading.await?.map_err(Error::internal)?;
        let job = job.ok_or_else(|| Error::Unknown("there is no such erasure".to_owned()))?;
        let page = Receipt {
            frame: &frame,
            asked: words::time(job.asked_at),
            how: job.cause.to_string(),
            digest: job.receipt.as_deref().map(receipt_digest),
            claims: job.receipt.as_deref().and_then(claims).unwrap_or_default(),
            receipt: job.receipt,
            id: job.id,
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
}

/// Decodes the content of a receipt to indented JSON. Does not check the signature: `tabularium receipt verify` does.
fn claims(receipt: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(receipt.trim().split('.').nth(1)?).ok()?;
    String::from_utf8(pretty(&payload)).ok()
}
