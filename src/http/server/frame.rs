//! Wraps every request. Assigns its id, limits URLs, concurrent requests and their rate, catches panics, compresses
//! the response, adds the headers that all responses have, and writes one log line. The line has the route's
//! template, but no path, query, token or contents.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, HeaderName};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use uuid::Uuid;

use super::super::error::{Cause, Error};
use super::super::routes::{Paths, Refusals, allow_scripts};
use super::super::service::Service;
use super::super::throttle::{ClientAddress, Meter, client_address};
use super::coding::Taken;
use super::compress::compressed;
use super::places::Seat;
use super::protection::{keep_personal, protect};
use super::request_id::RequestId;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers a request. This middleware is around all handlers.
pub(in crate::http) async fn frame(
    State((service, paths)): State<(Arc<Service>, Arc<Paths>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let mut text = [0u8; uuid::fmt::Hyphenated::LENGTH];
    let id = Uuid::new_v4();
    request.extensions_mut().insert(RequestId(id));
    let id: &str = id.hyphenated().encode_lower(&mut text);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let refusals = Refusals::at(request.uri().path());
    let personal = request.headers().contains_key(AUTHORIZATION);
    let mut response = match Taken::by(request.headers()) {
        Some(taken) => {
            let response = charged(&service, &paths, request, next).await;
            match compressed(&service, taken, refusals.rendered(response)).await {
                Ok(response) => response,
                Err(error) => refusals.answer(&error),
            }
        }
        None => refusals.answer(&Error::NoCoding),
    };
    protect(response.headers_mut(), service.is_encrypted());
    // Responses to refused requests get these headers, too, because a script must be able to read that it sends too
    // many requests.
    if route.as_ref().is_some_and(|route| paths.is_for_scripts(route.as_str())) {
        allow_scripts(response.headers_mut());
    }
    if personal {
        keep_personal(response.headers_mut());
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    service.slow.note(
        &method,
        route.as_ref().map_or("", MatchedPath::as_str),
        response.status(),
        started.elapsed(),
        id,
    );
    log(
        &method,
        route.as_ref().map_or("", MatchedPath::as_str),
        &response,
        started,
        id,
    );
    response
}

/// Answers a request. Charges the request to its address if the route needs no credential, or if the request has no
/// valid one.
async fn charged(service: &Service, paths: &Paths, mut request: Request, next: Next) -> Response {
    let rates = &service.limits.rates;
    if !rates.limit_anything() {
        return guarded(service, request, next).await;
    }
    let meter = Meter::default();
    let address = client_address(request.headers(), request.extensions(), rates.behind_proxy);
    request.extensions_mut().insert(meter.clone());
    if let Some(address) = address {
        request.extensions_mut().insert(ClientAddress(address));
    }
    let extensions = request.extensions();
    let route = extensions.get::<MatchedPath>();
    let open = || route.is_some_and(|route| paths.is_open(route.as_str()));
    let anonymous = !request.headers().contains_key(AUTHORIZATION) || open();
    if anonymous && let Err(error) = service.throttle.charge_address(address, extensions) {
        return error.into_response();
    }
    let mut response = guarded(service, request, next).await;
    let overdrawn = response.status() == StatusCode::TOO_MANY_REQUESTS;
    if !meter.is_charged()
        && !overdrawn
        && let Err(error) = service.throttle.charge_address(address, response.extensions())
    {
        return error.into_response();
    }
    if let Some(allowance) = meter.read() {
        allowance.tell(response.headers_mut());
    }
    response
}

async fn guarded(service: &Service, request: Request, next: Next) -> Response {
    let limit = service.limits.url;
    let length = request.uri().path_and_query().map_or(0, |text| text.as_str().len());
    if length > limit {
        return Error::LongUrl(limit).into_response();
    }
    if percent_encoding::percent_decode_str(request.uri().path())
        .decode_utf8()
        .is_err()
    {
        return Error::Invalid("the path is not UTF-8".to_owned()).into_response();
    }
    let (headers, extensions) = (request.headers(), request.extensions());
    let address = client_address(headers, extensions, service.limits.rates.behind_proxy);
    let Some(admitted) = service.admission.admit(address) else {
        return Error::Busy.into_response();
    };
    let seat = extensions.get::<Arc<Seat>>().cloned();
    let request = request.map(|body| admitted.body(body, seat));
    // `AssertUnwindSafe` is correct here: the state that handlers change is reached only through locks, and these locks
    // are recovered from poisoning after a panic.
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => Error::internal("a handler panicked").into_response(),
    }
}

fn log(method: &Method, route: &str, response: &Response, started: Instant, id: &str) {
    let status = response.status().as_u16();
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    if let Some(Cause(cause)) = response.extensions().get() {
        tracing::error!(%method, route, cause = &**cause, request = id, "failed");
    }
    tracing::info!(%method, route, status, micros, request = id, "answered");
}
