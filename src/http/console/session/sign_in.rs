//! Signs operators in and out.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::super::shown::page::{self, Frame, failed, html, see_other};
use super::form::Fields;
use super::operator::{Operator, is_on};
use super::{cookie, next};
use crate::consent::{CONSOLE_IDLE_SECONDS, CONSOLE_TOKEN_SECONDS};
use crate::http::error::Error;
use crate::http::service::Service;

#[derive(Template)]
#[template(path = "console/sign-in.html")]
struct SignIn<'a> {
    frame: &'a Frame,
    token: &'a str,
    /// The page that opens after sign-in.
    next: Option<String>,
    is_refused: bool,
    is_over: bool,
    token_minutes: i64,
    idle_minutes: i64,
}

fn form(service: &Service, token: &str, next: Option<String>, is_refused: bool, is_over: bool) -> Response {
    let status = if is_refused {
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::OK
    };
    let page = SignIn {
        frame: &Frame::outside(service),
        token,
        next,
        is_refused,
        is_over,
        token_minutes: CONSOLE_TOKEN_SECONDS / 60,
        idle_minutes: CONSOLE_IDLE_SECONDS / 60,
    };
    let mut response = html(status, &page);
    // The URL of this page may contain the token, and must not be sent as Referer.
    let nothing = HeaderValue::from_static("no-referrer");
    response.headers_mut().insert(REFERRER_POLICY, nothing);
    response
}

/// Answers GET: shows the sign-in form. The URL may contain a token. Only sending the form uses up the token, because
/// programs that check links may open the URL, too.
pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Response> {
    is_on(&service).map_err(IntoResponse::into_response)?;
    let fields = Fields::of_query(query.as_deref());
    let is_over = fields.get("over").is_some();
    Ok(form(
        &service,
        fields.filled("token").unwrap_or_default(),
        next_in(&service, &fields),
        false,
        is_over,
    ))
}

/// Reads the page that opens after sign-in, if it is one of the console.
fn next_in(service: &Service, fields: &Fields) -> Option<String> {
    next::checked(service, fields.filled("next")?)
}

/// Answers POST: exchanges a token for a session.
pub(in crate::http::console) async fn enter(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Response> {
    is_on(&service).map_err(IntoResponse::into_response)?;
    let begun = async {
        let fields = Fields::of_body(&service, &headers, sent).await?;
        let token = fields.filled("token").unwrap_or_default().to_owned();
        let beginning = service.blocking(move |service| service.store.console_sessions().begin(&token));
        let begun = beginning.await?.map_err(Error::internal)?;
        Ok::<_, Error>((begun, next_in(&service, &fields)))
    };
    match begun.await {
        Ok((Some(value), next)) => {
            let mut response = see_other(&next.unwrap_or_else(|| page::address(&service, "")));
            let cookie = cookie::set(&service, &value).ok_or_else(|| Error::internal("no cookie").into_response())?;
            response.headers_mut().append(SET_COOKIE, cookie);
            Ok(response)
        }
        Ok((None, next)) => Ok(form(&service, "", next, true, false)),
        Err(error) => Ok(failed(&Frame::outside(&service), error)),
    }
}

/// Answers `POST /console/sign-out`: ends the session.
pub(in crate::http::console) async fn leave(
    State(service): State<Arc<Service>>,
    operator: Operator,
    headers: HeaderMap,
    sent: Body,
) -> Response {
    let frame = operator.frame(&service, "", None);
    let left = async {
        Fields::sent_by(&operator, &service, &headers, sent).await?;
        operator.leave(&service).await
    };
    match left.await {
        Ok(()) => {
            let mut response = see_other(&page::address(&service, "/sign-in?over"));
            if let Some(cookie) = cookie::cleared(&service) {
                response.headers_mut().append(SET_COOKIE, cookie);
            }
            response
        }
        Err(error) => failed(&frame, error),
    }
}
