//! `GET /fhir/{type}/{id}`: returns one resource as it is stored, or the elements that `_summary` and `_elements`
//! request.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, ETAG, LAST_MODIFIED};
use axum::response::Response;
use bytes::Bytes;

use super::super::auth::Caller;
use super::super::described::{FHIR, resource};
use super::super::error::Error;
use super::super::routes::{Operation, Route, meant_operation, schema};
use super::super::service::Service;
use super::conditional::Version;
use super::negotiate::{FHIR_JSON, json_admitted, parameter, wants_pretty};
use super::patient_wildcard;
use super::resource_type::resource_type;
use super::signed::signer;
use crate::columns::json::pretty;
use crate::fhir::TypeId;
use crate::lake::Snapshot;
use crate::search::raw;
use crate::search::{Subset, with_addresses};

/// Returns the route of reads.
pub(in crate::http) fn routes() -> Vec<Route> {
    let tag = "the version, as a weak tag: that of every content coding";
    let operation = Operation::new("read", "One resource as it was stored")
        .query("_summary", schema("string", "true, text, data or false"))
        .query("_elements", schema("string", "top-level elements, between commas"))
        .header("If-None-Match", "tags of the versions that the client has")
        .header(
            "If-Modified-Since",
            "when the client's version was made; without If-None-Match",
        )
        .answers(&[FHIR], &resource())
        .response(304, "The client has this version", &[], &serde_json::Value::Null);
    let operation = [200, 304].into_iter().fold(operation, |operation, status| {
        operation.response_header(status, "ETag", tag).response_header(
            status,
            "Last-Modified",
            "when the version was stored",
        )
    });
    vec![Route::at("/fhir/{type}/{id}").get(read, operation)]
}

/// Answers `GET /fhir/{type}/{id}`.
async fn read(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path((name, id)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Error> {
    // Borrow these from the request. Extractors would copy the query and all headers, on the most used route.
    let (query, headers) = (request.uri().query(), request.headers());
    json_admitted(headers, parameter(query, "_format").as_deref())?;
    let pretty_wanted = wants_pretty(query)?;
    let id = patient_wildcard::in_path(id, &access)?;
    if id.starts_with(['$', '_']) {
        let meant = meant_operation(&[&name], &id);
        return Err(Error::NotSupported(format!("GET {name}/{id} is not supported{meant}")));
    }
    let type_id = resource_type(&name)?;
    let subset = subset(type_id, query)?;
    let read = |snapshot: &Arc<Snapshot>| service.lake.table(snapshot, type_id, &access.scope).read(&id);
    let snapshot = service.lake.snapshot();
    let found = match read(&snapshot) {
        Err(_) if service.lake.erased_since(snapshot.erasures()) => read(&service.lake.snapshot()),
        found => found,
    };
    let found = found.map_err(Error::internal)?;
    let Some(found) = found else {
        return Err(Error::NotFound {
            resource_type: name,
            id,
        });
    };
    let version = Version::new(found.version, found.last_updated);
    let held = version.is_held(headers);
    let shown = match subset.filter(|_| !held) {
        Some(subset) => part(&subset, type_id, found.resource.clone()),
        None => found.resource.clone(),
    };
    let signer = signer(&service, &access);
    let addressed = with_addresses(&shown, &found.resource, &service.fhir_base, signer.as_ref());
    let shown = addressed.unwrap_or(shown);
    let mut response = Response::new(if held {
        // Use a body of unknown length. An empty body of known length would add the header `Content-Length: 0` to the
        // 304, and this header would claim that the full response is empty.
        Body::from_stream(futures::stream::empty::<Result<Bytes, std::convert::Infallible>>())
    } else if pretty_wanted {
        Body::from(pretty(&shown))
    } else {
        Body::from(shown)
    });
    let head = response.headers_mut();
    head.insert(ETAG, version.etag());
    if let Some(modified) = version.last_modified() {
        head.insert(LAST_MODIFIED, modified);
    }
    if held {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        head.insert(CONTENT_TYPE, FHIR_JSON);
    }
    Ok(response)
}

/// Cuts a resource to the requested elements.
pub(in crate::http) fn part(subset: &Subset, type_id: TypeId, resource: Bytes) -> Bytes {
    subset.cut(type_id, &resource).map_or(resource, Bytes::from)
}

/// Reads which elements the query requests. `None` if it requests the whole resource.
pub(in crate::http) fn subset(type_id: TypeId, query: Option<&str>) -> Result<Option<Subset>, Error> {
    let names_part = |query: &&str| {
        let mut names = raw::parse(query).into_iter().map(|parameter| parameter.name);
        names.any(|name| matches!(name.as_str(), "_summary" | "_elements"))
    };
    let Some(query) = query.filter(names_part) else {
        return Ok(None);
    };
    let subset = Subset::of_read(type_id, &raw::parse_checked(query)?)?;
    Ok(Some(subset).filter(|subset| !subset.is_whole()))
}
