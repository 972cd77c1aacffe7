//! Shows a page to browsers that request an unknown URL. Programs get JSON, as on other routes.

use std::sync::Arc;

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;

use super::super::language;
use super::notice;
use crate::http::service::Service;

/// Returns the page for a URL without a route, if the request comes from a browser: GET or HEAD, with `text/html` in
/// `Accept`.
pub(in crate::http) fn page(
    service: &Arc<Service>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Option<Response> {
    if !matches!(*method, Method::GET | Method::HEAD) || !names_html(headers) {
        return None;
    }
    let switched = language::switched(service, uri.query(), &here(service, uri), false);
    Some(switched.unwrap_or_else(|| notice::nowhere(service, language::of(service, headers))))
}

/// Returns the URL path for the language switch. If a browser could read the path as another host's URL, returns the
/// root instead.
fn here(service: &Service, uri: &Uri) -> String {
    let path = uri.path();
    let is_local = path.starts_with('/') && !path.contains("//") && !path.contains('\\');
    format!("{}{}", service.base_path(), if is_local { path } else { "/" })
}

/// Whether `Accept` contains `text/html`. Ranges such as `*/*` do not count, because programs send them.
fn names_html(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = values.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts
            .next()
            .is_some_and(|media| media.eq_ignore_ascii_case("text/html"));
        let refused = |part: &str| {
            let quality = part.strip_prefix("q=").or(part.strip_prefix("Q="));
            quality.and_then(|quality| quality.parse().ok()) == Some(0.0)
        };
        named && !parts.any(refused)
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn browsers_name_pages_and_programs_do_not() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        for (accept, expected) in [
            (browser, true),
            ("application/json, TEXT/HTML;q=0.1", true),
            ("*/*", false),
            ("application/fhir+json", false),
            ("text/html;q=0", false),
            ("text/html;q=0.0, */*", false),
            ("text/*", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(names_html(&headers), expected, "{accept}");
        }
        assert!(!names_html(&HeaderMap::new()));
    }
}
