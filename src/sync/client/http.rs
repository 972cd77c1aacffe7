//! Outgoing HTTP: guarded, with limits of time, size and redirects. It logs nothing of its contents.

pub(super) mod charset;
pub(super) mod guard;
pub(super) mod realm;

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{RequestBuilder, Response};
use url::Url;

use self::charset::utf8;
use self::guard::{Guard, Refused, Resolver};
use self::realm::Realm;
use super::error::Error;

pub(super) const JSON: &str = "application/json";
pub(super) const FHIR_JSON: &str = "application/fhir+json, application/json;q=0.9";
/// The maximum number of redirects of a GET.
const REDIRECTS: usize = 5;

/// Limits of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// The timeout for the connection.
    pub connect: Duration,
    /// The timeout until the next bytes arrive.
    pub idle: Duration,
    /// The timeout of the whole call.
    pub whole: Duration,
    /// The maximum number of bytes of a FHIR resource or page, decompressed.
    pub page: usize,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            whole: Duration::from_secs(120),
            page: 64 << 20,
        }
    }
}

/// The maximum number of bytes of an answer that is no FHIR resource or page.
pub(super) const DOCUMENT: usize = 2 << 20;

/// A source's answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP's status.
    pub status: u16,
    /// The number of seconds that the source asks to wait.
    pub retry_after: Option<u64>,
    /// The media type as the source wrote it.
    pub content_type: Option<String>,
    /// The body, decompressed. A byte order mark is removed, and other charsets are converted to UTF-8.
    pub body: Vec<u8>,
    /// The address of the answer, after redirects.
    pub url: Url,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The HTTP client.
#[derive(Clone, Debug)]
pub(in crate::sync) struct Http {
    client: reqwest::Client,
    guard: Guard,
    limits: HttpLimits,
}

impl Http {
    pub(super) fn new(guard: Guard, limits: HttpLimits) -> Result<Http, Error> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("tabularium/", env!("CARGO_PKG_VERSION")))
            // No proxy, because it would resolve names itself and bypass the guard. No automatic redirects, because
            // each one is checked here.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(limits.connect)
            .read_timeout(limits.idle)
            .timeout(limits.whole)
            .dns_resolver(Resolver(guard))
            .build()
            .map_err(|_| Error::Setup)?;
        Ok(Http { client, guard, limits })
    }

    pub(super) fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    pub(super) fn guard(&self) -> Guard {
        self.guard
    }

    /// Gets a document of at most `max_bytes` bytes, following redirects. A bearer token is sent only to addresses in
    /// its realm.
    pub(super) async fn get(
        &self,
        address: &str,
        accept: &str,
        bearer: Option<(&str, &Realm)>,
        max_bytes: usize,
    ) -> Result<Answer, Error> {
        let (response, url) = self.open(address, accept, bearer).await?;
        read(response, url, max_bytes).await
    }

    /// Begins to get a document, following redirects. Returns the response and its address.
    pub(super) async fn open(
        &self,
        address: &str,
        accept: &str,
        bearer: Option<(&str, &Realm)>,
    ) -> Result<(Response, Url), Error> {
        let mut url = self.guard.check(address)?;
        for _ in 0..=REDIRECTS {
            let mut request = self.client.get(url.clone()).header(ACCEPT, accept);
            if let Some((token, _)) = bearer.filter(|(_, realm)| realm.holds(&url)) {
                request = request.bearer_auth(token);
            }
            let response = self.send(request, &url).await?;
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok((response, url));
            }
            let next = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let next = next.and_then(|text| url.join(text).ok());
            url = next.ok_or_else(|| malformed(&url, "a redirect to nowhere"))?;
            self.guard.check_url(&url)?;
        }
        Err(malformed(&url, "too many redirects"))
    }

    /// Gets JSON. Fails if the status is not 200.
    pub(super) async fn get_json(&self, address: &str, accept: &str) -> Result<serde_json::Value, Error> {
        let answer = self.get(address, accept, None, DOCUMENT).await?;
        if answer.status != 200 {
            return Err(answer.refusal());
        }
        answer.json()
    }

    /// Posts a form, with HTTP Basic authentication if `basic` is set. Redirects are not followed, so the form goes
    /// nowhere else.
    pub(super) async fn post_form(
        &self,
        address: &str,
        form: &[(&str, &str)],
        basic: Option<(&str, &str)>,
    ) -> Result<Answer, Error> {
        let url = self.guard.check(address)?;
        let mut request = self.client.post(url.clone()).header(ACCEPT, JSON).form(form);
        if let Some((user, word)) = basic {
            request = request.basic_auth(user, Some(word));
        }
        read(self.send(request, &url).await?, url, DOCUMENT).await
    }

    /// Posts JSON. Redirects are not followed.
    pub(super) async fn post_json(
        &self,
        address: &str,
        body: &serde_json::Value,
        bearer: Option<&str>,
    ) -> Result<Answer, Error> {
        let url = self.guard.check(address)?;
        let mut request = self.client.post(url.clone()).header(ACCEPT, JSON).json(body);
        if let Some(token) = bearer {
            request = request.bearer_auth(token);
        }
        read(self.send(request, &url).await?, url, DOCUMENT).await
    }

    /// Posts bytes with these headers. Redirects are not followed. The answer has no body: at most `max_bytes` are read
    /// and dropped, so that the connection can be used again.
    pub(super) async fn post(
        &self,
        address: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        max_bytes: u64,
    ) -> Result<Answer, Error> {
        let url = self.guard.check(address)?;
        let request = self.client.post(url.clone()).headers(headers).body(body);
        let mut response = self.send(request, &url).await?;
        let answer = head(&response, &url);
        if response.content_length().is_some_and(|length| length <= max_bytes) {
            while let Ok(Some(_)) = response.chunk().await {}
        }
        Ok(answer)
    }

    async fn send(&self, request: RequestBuilder, url: &Url) -> Result<Response, Error> {
        request.send().await.map_err(|error| failure(&error, url))
    }
}

impl Answer {
    /// Parses the body as JSON.
    pub(super) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body)
            .map_err(|_| malformed(&self.url, "something else than the JSON that was expected"))
    }

    /// Returns the error for an unexpected status.
    pub(super) fn refusal(&self) -> Error {
        Error::Status {
            host: host(&self.url),
            status: self.status,
            retry_after: self.retry_after,
        }
    }
}

/// Returns the host of an address. If the port is not the default one, adds the port. Errors may contain host and port.
pub(super) fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

pub(super) fn malformed(url: &Url, what: &'static str) -> Error {
    Error::Malformed { host: host(url), what }
}

/// Returns the error for the status of a response. The body is not read.
pub(super) fn refusal(response: &Response, url: &Url) -> Error {
    Error::Status {
        host: host(url),
        status: response.status().as_u16(),
        retry_after: retry_after(response.headers()),
    }
}

/// Returns the error for a failure of the HTTP client. The client's own message is not used, because it contains the
/// whole address.
pub(super) fn failure(error: &reqwest::Error, url: &Url) -> Error {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.is::<Refused>() {
            return Error::Forbidden(
                "its name leads to no public address (--allow-private-sources admits private ones)",
            );
        }
        source = cause.source();
    }
    let host = host(url);
    if error.is_timeout() {
        Error::Timeout { host }
    } else {
        Error::Unreachable { host }
    }
}

async fn read(mut response: Response, url: Url, max_bytes: usize) -> Result<Answer, Error> {
    let too_large = || Error::TooLarge { host: host(&url) };
    if response
        .content_length()
        .is_some_and(|length| length > max_bytes as u64)
    {
        return Err(too_large());
    }
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let content_type = content_type(response.headers());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failure(&error, &url))? {
        if body.len() + chunk.len() > max_bytes {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status,
        retry_after,
        body: utf8(body, content_type.as_deref()),
        content_type,
        url,
    })
}

/// An answer whose body is read piece by piece.
#[derive(Debug)]
pub struct Download {
    response: Response,
    url: Url,
}

impl Download {
    pub(super) fn new((response, url): (Response, Url)) -> Download {
        Download { response, url }
    }

    /// Returns the answer without its body.
    pub fn head(&self) -> Answer {
        head(&self.response, &self.url)
    }

    /// Returns the length of the body as the source states it.
    pub fn length(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// Returns the next piece of the body, decompressed. Returns `None` at its end.
    pub async fn piece(&mut self) -> Result<Option<bytes::Bytes>, Error> {
        self.response.chunk().await.map_err(|error| failure(&error, &self.url))
    }
}

/// Returns a response without its body.
fn head(response: &Response, url: &Url) -> Answer {
    Answer {
        status: response.status().as_u16(),
        retry_after: retry_after(response.headers()),
        content_type: content_type(response.headers()),
        body: Vec::new(),
        url: url.clone(),
    }
}

pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads `Retry-After`: seconds, or a date. A date in the past gives 0 seconds.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let wait = date.duration_since(std::time::SystemTime::now()).unwrap_or_default();
    Some(wait.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(of("7"), Some(7));
        assert_eq!(of("soon"), None);
        assert_eq!(of("Wed, 21 Oct 2015 07:28:00 GMT"), Some(0));
        let later = std::time::SystemTime::now() + Duration::from_secs(600);
        let wait = of(&httpdate::fmt_http_date(later)).unwrap();
        assert!((590..=600).contains(&wait), "{wait}");
    }
}
