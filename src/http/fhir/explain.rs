//! `X-Explain`: a client requests that the response of a search or of `$run` explains how the server computed it.
//!
//! The explanation contains numbers of rows and bytes of the whole lake, other applications' rows included. So only
//! application tokens may request it, and only if the server was started with `--allow-explain`.

use axum::http::{HeaderMap, HeaderName};

use super::super::error::Error;
use super::super::service::Service;
use crate::consent::Access;
use crate::search::{Form, shortened};

const X_EXPLAIN: HeaderName = HeaderName::from_static("x-explain");
/// The header with the time of each step, which browsers and proxies understand.
pub(in crate::http) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Reads which form of explanation the request wants. `None` if it wants none. An error if the header is invalid, if
/// the server does not explain, or if the caller has a patient token.
pub(in crate::http) fn wanted(headers: &HeaderMap, access: &Access, service: &Service) -> Result<Option<Form>, Error> {
    let Some(value) = headers.get(X_EXPLAIN) else {
        return Ok(None);
    };
    let form = match value.to_str().unwrap_or_default().trim() {
        text if text.eq_ignore_ascii_case("false") => return Ok(None),
        text if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("text") => Form::Text,
        text if text.eq_ignore_ascii_case("json") => Form::Json,
        other => {
            let text = format!("X-Explain: '{}' is not true, text, json or false", shortened(other));
            return Err(Error::Invalid(text));
        }
    };
    if !service.explain {
        return Err(Error::Forbidden(
            "this server does not explain its answers (serve --allow-explain)",
        ));
    }
    if access.patients().is_some() {
        return Err(Error::Forbidden("answers are explained to application tokens only"));
    }
    Ok(Some(form))
}
