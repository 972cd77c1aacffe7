//! `GET /fhir/Binary/{id}`: returns the bytes of a Binary, all or a range. If the client requests a FHIR media type,
//! returns the resource with its bytes in base64 (R4, binary.html).
//!
//! The bytes come from a source and may be harmful, so the headers forbid browsers to run or embed them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::header::{
    ACCEPT, ACCEPT_RANGES, AUTHORIZATION, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_RANGE, LAST_MODIFIED, RANGE, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::super::auth::Caller;
use super::super::described::{FHIR, resource};
use super::super::error::Error;
use super::super::routes::{Operation, Route, meant_operation, schema};
use super::super::server::compress::AsIs;
use super::super::service::Service;
use super::conditional::{Tag, Version};
use super::negotiate::{FHIR_JSON, json_admitted, parameter, wants_pretty};
use super::range::{Asked, asked};
use super::read::{part, subset};
use super::resource_type::resource_type;
use super::search;
use super::signed::{Presented, SIGNATURE};
use crate::lake::{Attached, AttachmentContent, AttachmentRange};
use crate::search::with_base;

const BINARY: &str = "Binary";
/// The policy of the bytes: they must not run, be framed, or load anything.
const SANDBOX: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");
const NOT_KEPT: HeaderValue = HeaderValue::from_static("private, no-store");
const BYTES: HeaderValue = HeaderValue::from_static("bytes");
const UNKNOWN: &str = "application/octet-stream";
/// The media types that a browser displays without running them. It must download all others.
const SHOWN: &[&str] = &[
    "application/pdf",
    "application/rtf",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/tiff",
    "image/webp",
    "text/plain",
    "text/rtf",
];
/// The number of bytes that are read and sent at a time.
const STEP: u64 = 256 << 10;

/// Returns the routes for Binaries. Searches by GET use the routes for any type.
pub(in crate::http) fn routes() -> Vec<Route> {
    let any = serde_json::json!({"type": "string", "format": "binary"});
    let operation = Operation::new(
        "readBinary",
        "A Binary: its bytes, or the resource for who accepts application/fhir+json",
    )
    .by_token_or_address()
    .query(
        SIGNATURE,
        schema(
            "string",
            "of a signed address, as serve --signed-attachments makes them; with authorization, jti and until it replaces a token",
        ),
    )
    .query("authorization", schema("string", "of a signed address: the authorization that brought the Binary"))
    .query("jti", schema("string", "of a signed address: the id of the token that read the record"))
    .query(
        "until",
        schema("integer", "of a signed address: its end, in seconds since the Unix epoch"),
    )
    .query("_format", schema("string", "application/fhir+json for the resource"))
    .query(
        "_summary",
        schema("string", "of the resource: true, text, data or false"),
    )
    .query(
        "_elements",
        schema("string", "of the resource: top-level elements, between commas"),
    )
    .header("Range", "one part of the bytes, as bytes=0-1023")
    .header("If-Range", "the tag or date of the whole that the part is to be of")
    .header("If-None-Match", "tags of the versions that the client has")
    .header(
        "If-Modified-Since",
        "when the client's version was made; without If-None-Match",
    )
    .answers_as(&[(FHIR, resource()), ("*/*", any.clone())])
    .response(206, "The part of the bytes", &["*/*"], &any)
    .response(304, "The client has this version", &[], &serde_json::Value::Null);
    let operation = [200, 206, 304].into_iter().fold(operation, |operation, status| {
        operation
            .response_header(status, "ETag", "of the bytes a strong tag, of the resource its version")
            .response_header(status, "Last-Modified", "when the version was stored")
    });
    let operation = [200, 206].into_iter().fold(operation, |operation, status| {
        operation
            .response_header(status, "Accept-Ranges", "bytes, where parts can be asked for")
            .response_header(
                status,
                "Content-Disposition",
                "attachment, for what a browser would run",
            )
    });
    let operation = operation.response_header(206, "Content-Range", "which part it is, of how many bytes");
    vec![
        Route::at("/fhir/Binary/{id}").get(read, operation),
        // Without this route, the router would match `/fhir/Binary/{id}`, which it prefers to `/fhir/{type}/_search`.
        Route::at("/fhir/Binary/_search").also_post(search::binary_by_post),
    ]
}

/// Answers `GET /fhir/Binary/{id}`.
///
/// A request without a token may have a signed address.
async fn read(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Error> {
    let (mut request, _) = request.into_parts();
    let presented = Presented::of(&service, request.uri.query());
    let presented = presented.filter(|_| !request.headers.contains_key(AUTHORIZATION));
    let is_signed = presented.is_some();
    let scope = match presented {
        Some(presented) => {
            let id = id.clone();
            service.blocking(move |service| presented.scope(service, &id)).await??
        }
        None => Caller::from_request_parts(&mut request, &service)
            .await?
            .0
            .scope
            .clone(),
    };
    if id.starts_with(['$', '_']) {
        let meant = meant_operation(&[BINARY], &id);
        return Err(Error::NotSupported(format!(
            "GET {BINARY}/{id} is not supported{meant}"
        )));
    }
    let query = request.uri.query().map(str::to_owned);
    let format = parameter(query.as_deref(), "_format");
    if format.is_some() {
        json_admitted(&request.headers, format.as_deref())?;
    }
    let subset = subset(resource_type(BINARY)?, query.as_deref())?;
    let indented = wants_pretty(query.as_deref())?;
    let found = {
        let id = id.clone();
        service
            .blocking(move |service| service.lake.newest_attachment(&scope, &id))
            .await?
    };
    let Some(Attached { row, content }) = found.map_err(Error::internal)? else {
        return Err(Error::NotFound {
            resource_type: BINARY.to_owned(),
            id,
        });
    };
    let headers = &request.headers;
    let version = Version::new(row.version, row.last_updated);
    let head: Head<'_> = serde_json::from_slice(&row.resource).map_err(Error::internal)?;
    let stored = head.content_type.filter(|content_type| is_media_type(content_type));
    let media = stored.as_deref().unwrap_or(UNKNOWN);
    let mut response = if format.is_some() || subset.is_some() || wants_resource(headers, media)? {
        let shown = Resource {
            text: with_base(&row.resource, &service.fhir_base).unwrap_or_else(|| row.resource.clone()),
            subset: subset.is_some(),
            indented,
        };
        let shown = match subset {
            Some(subset) => Resource {
                text: part(&subset, resource_type(BINARY)?, shown.text),
                ..shown
            },
            None => shown,
        };
        resource_answer(&service, &version, headers, shown, content).await?
    } else {
        let bytes = match (content, head.data) {
            (Some(content), _) => Stored::File(Arc::new(content)),
            (None, Some(data)) => Stored::Inline(decoded(&data)?),
            (None, None) => Stored::Inline(Bytes::new()),
        };
        let is_head = request.method == Method::HEAD;
        raw_answer(&service, &version, headers, media, bytes, is_head).await?
    };
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, SANDBOX);
    if is_signed {
        // A request with a token gets such a header in every answer. This one has no token, and must not be kept
        // either.
        response.headers_mut().insert(CACHE_CONTROL, NOT_KEPT);
    }
    Ok(response)
}

/// The members of a stored Binary that describe its bytes.
#[derive(Deserialize)]
struct Head<'r> {
    #[serde(rename = "contentType")]
    content_type: Option<String>,
    #[serde(borrow)]
    data: Option<std::borrow::Cow<'r, str>>,
}

/// Whether a stored `contentType` is a media type that a header may contain.
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_token = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
    let parts = essence.split_once('/');
    HeaderValue::from_str(text).is_ok() && parts.is_some_and(|(one, other)| is_token(one) && is_token(other))
}

fn decoded(data: &str) -> Result<Bytes, Error> {
    let compact: String = data.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(compact).map(Bytes::from).map_err(Error::internal)
}

/// Whether the client wants the resource and not the bytes: `Accept` ranks JSON at least as high as the bytes. FHIR
/// JSON and plain JSON count as JSON. FHIR XML counts for neither. All other media ranges, such as `*/*`, count for the
/// bytes, and so does the media type of the bytes, even if it is JSON or FHIR XML. Returns an error if JSON is not
/// chosen and the client ranks FHIR XML above the bytes.
fn wants_resource(headers: &HeaderMap, media: &str) -> Result<bool, Error> {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let own = essence(media);
    let (mut json, mut xml, mut bytes) = (0.0_f32, 0.0_f32, 0.0_f32);
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for range in values.flat_map(|text| text.split(',')).map(str::trim) {
        let quality = range.split(';').skip(1).find_map(|part| part.trim().strip_prefix("q="));
        let quality = quality.map_or(1.0, |text| text.trim().parse().unwrap_or(0.0));
        let raise = |known: &mut f32| *known = known.max(quality);
        match essence(range).as_str() {
            "" => {}
            of if of == own => raise(&mut bytes),
            "application/fhir+json" | "application/json+fhir" | "application/json" | "text/json" => raise(&mut json),
            "application/fhir+xml" | "application/xml+fhir" => raise(&mut xml),
            _ => raise(&mut bytes),
        }
    }
    match json {
        json if json > 0.0 && json >= bytes => Ok(true),
        _ if xml > bytes => Err(Error::NotAcceptable(
            "application/fhir+json, or as the bytes that they are",
        )),
        _ => Ok(false),
    }
}

/// A Binary that is returned as a resource.
struct Resource {
    text: Bytes,
    /// Whether the client requested only some elements. Then the bytes are left out.
    subset: bool,
    indented: bool,
}

async fn resource_answer(
    service: &Arc<Service>,
    version: &Version,
    headers: &HeaderMap,
    shown: Resource,
    content: Option<AttachmentContent>,
) -> Result<Response, Error> {
    let held = version.is_held(headers);
    let content = content.filter(|_| !held && !shown.subset).map(Arc::new);
    let mut response = match (held, content) {
        (true, _) => not_modified(),
        (false, None) if shown.indented => Response::new(Body::from(crate::columns::json::pretty(&shown.text))),
        (false, None) => Response::new(Body::from(shown.text)),
        (false, Some(content)) => {
            let whole = 0..content.bytes();
            verify(service, &content, whole).await?;
            with_data(&shown.text, content)
        }
    };
    let head = response.headers_mut();
    head.insert(ETAG, version.etag());
    if let Some(modified) = version.last_modified() {
        head.insert(LAST_MODIFIED, modified);
    }
    if !held {
        head.insert(CONTENT_TYPE, FHIR_JSON);
    }
    Ok(response)
}

/// Streams the resource with the bytes of a file in base64 as its last member.
fn with_data(text: &Bytes, content: Arc<AttachmentContent>) -> Response {
    let before = [text.strip_suffix(b"}").unwrap_or(text), b",\"data\":\""].concat();
    let length = before.len() as u64 + content.bytes().div_ceil(3) * 4 + 2;
    // Use a multiple of three bytes, so that no base64 group spans two steps.
    let step = STEP / 3 * 3;
    let last = content.bytes();
    let steps = std::iter::successors(Some(0), move |at| Some(at + step)).take_while(move |at| *at < last);
    let middle = futures::stream::iter(steps);
    let middle = futures::StreamExt::then(middle, move |at| {
        let content = content.clone();
        let part = at..(at + step).min(last);
        async move {
            bytes_of(content, part)
                .await
                .map(|bytes| Bytes::from(STANDARD.encode(bytes)))
        }
    });
    let around = |bytes: Vec<u8>| futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(bytes))]);
    let whole = futures::StreamExt::chain(around(before), middle);
    let whole = futures::StreamExt::chain(whole, around(b"\"}".to_vec()));
    let mut response = Response::new(Body::from_stream(whole));
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    response
}

/// A Binary's bytes: in a file, or inline in its row.
enum Stored {
    File(Arc<AttachmentContent>),
    Inline(Bytes),
}

impl Stored {
    fn length(&self) -> u64 {
        match self {
            Stored::File(content) => content.bytes(),
            Stored::Inline(bytes) => bytes.len() as u64,
        }
    }

    /// Returns the ETag of the bytes, from their SHA-256.
    fn tag(&self) -> Tag {
        match self {
            Stored::File(content) => Tag::of(content.sha256()),
            Stored::Inline(bytes) => {
                let digits: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
                Tag::of(&digits)
            }
        }
    }
}

async fn raw_answer(
    service: &Arc<Service>,
    version: &Version,
    headers: &HeaderMap,
    media: &str,
    bytes: Stored,
    is_head: bool,
) -> Result<Response, Error> {
    let (length, tag) = (bytes.length(), bytes.tag());
    let held = version.is_held_as(&tag, headers);
    let if_range = headers.get(IF_RANGE).and_then(|value| value.to_str().ok());
    let in_parts = !is_head && !held && if_range.is_none_or(|text| tag.is(text) || version.is_dated(text));
    let range = headers
        .get(RANGE)
        .filter(|_| in_parts)
        .and_then(|value| value.to_str().ok());
    let (status, part) = match range.map_or(Asked::Whole, |text| asked(text, length)) {
        Asked::Whole => (StatusCode::OK, 0..length),
        Asked::Part(part) => (StatusCode::PARTIAL_CONTENT, part),
        Asked::Nothing => return Err(Error::Range(length)),
    };
    let mut response = match (held, bytes) {
        (true, _) => not_modified(),
        (false, Stored::Inline(bytes)) => {
            Response::new(Body::from(bytes.slice(part.start as usize..part.end as usize)))
        }
        (false, Stored::File(content)) => {
            verify(service, &content, part.clone()).await?;
            Response::new(Body::from_stream(stream(content, part.clone())))
        }
    };
    // Do not compress the response, because byte ranges refer to the stored bytes, and the file may be compressed
    // itself.
    response.extensions_mut().insert(AsIs);
    if !held {
        *response.status_mut() = status;
    }
    let head = response.headers_mut();
    head.insert(ETAG, tag.value());
    head.insert(ACCEPT_RANGES, BYTES);
    if let Some(modified) = version.last_modified() {
        head.insert(LAST_MODIFIED, modified);
    }
    if held {
        return Ok(response);
    }
    head.insert(CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {}-{}/{length}", part.start, part.end - 1);
        head.insert(CONTENT_RANGE, HeaderValue::from_str(&range).map_err(Error::internal)?);
    }
    head.insert(CONTENT_TYPE, HeaderValue::from_str(media).map_err(Error::internal)?);
    let essence = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !SHOWN.contains(&essence.as_str()) {
        head.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
    Ok(response)
}

fn not_modified() -> Response {
    // Use a body of unknown length. An empty body of known length would add the header `Content-Length: 0` to the 304,
    // and this header would claim that the full response is empty.
    let nothing = futures::stream::empty::<Result<Bytes, std::convert::Infallible>>();
    let mut response = Response::new(Body::from_stream(nothing));
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response
}

/// Verifies a part of a file by its checksums. Call this before the response begins, because a later error could only
/// cut the response off.
async fn verify(service: &Arc<Service>, content: &Arc<AttachmentContent>, part: AttachmentRange) -> Result<(), Error> {
    let content = content.clone();
    let verified = service.blocking(move |_| content.verify(&part)).await?;
    verified.map_err(Error::internal)
}

fn stream(
    content: Arc<AttachmentContent>,
    part: AttachmentRange,
) -> impl futures::Stream<Item = Result<Bytes, std::io::Error>> + Send {
    let starts = std::iter::successors(Some(part.start), |at| Some(at + STEP)).take_while(move |at| *at < part.end);
    futures::StreamExt::then(futures::stream::iter(starts), move |at| {
        bytes_of(content.clone(), at..(at + STEP).min(part.end))
    })
}

/// Reads a part of a file on a thread that may wait for the disk.
async fn bytes_of(content: Arc<AttachmentContent>, part: AttachmentRange) -> Result<Bytes, std::io::Error> {
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::with_capacity((part.end - part.start) as usize);
        while part.start + (bytes.len() as u64) < part.end {
            bytes.extend(content.piece(part.start + bytes.len() as u64..part.end)?);
        }
        Ok(Bytes::from(bytes))
    });
    read.await.map_err(std::io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_fhir_gets_the_resource() {
        let wants = |accept: &str, media: &str| {
            let mut headers = HeaderMap::new();
            if !accept.is_empty() {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            wants_resource(&headers, media).ok()
        };
        for (accept, media, expected) in [
            ("", "application/pdf", Some(false)),
            ("*/*", "application/pdf", Some(false)),
            ("application/pdf", "application/pdf", Some(false)),
            ("image/png", "application/pdf", Some(false)),
            ("application/fhir+json", "application/pdf", Some(true)),
            ("application/fhir+json;q=0.9, */*;q=0.5", "application/pdf", Some(true)),
            ("application/fhir+json;q=0.5, */*", "application/pdf", Some(false)),
            ("application/json", "application/pdf", Some(true)),
            ("application/json", "application/json", Some(false)),
            ("application/fhir+json", "application/json", Some(true)),
            ("application/fhir+xml", "application/pdf", None),
            ("application/fhir+xml, */*", "application/pdf", Some(false)),
            ("application/fhir+json;q=0", "application/pdf", Some(false)),
        ] {
            assert_eq!(wants(accept, media), expected, "{accept} of {media}");
        }
    }
}
