//! The security headers of responses. They forbid browsers everything that the response itself does not allow.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};

/// The policy of responses that are no pages: they load nothing, and no page may frame them.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
const A_YEAR: HeaderValue = HeaderValue::from_static("max-age=31536000");
const PERSONAL: HeaderValue = HeaderValue::from_static("private, no-cache");
const BY_CREDENTIAL: HeaderValue = HeaderValue::from_static("authorization");
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");
const NO_DEVICES: HeaderValue = HeaderValue::from_static("camera=(), geolocation=(), microphone=()");

/// Adds the security headers. A response's own policies stay. `encrypted`: whether clients use `https`.
pub(in crate::http) fn protect(headers: &mut HeaderMap, encrypted: bool) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(REFERRER_POLICY) {
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    if !headers.contains_key(CONTENT_SECURITY_POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, NOTHING);
    } else {
        // Only pages have a policy of their own, so this response is a page.
        headers.insert(PERMISSIONS, NO_DEVICES);
    }
    if encrypted {
        headers.insert(STRICT_TRANSPORT_SECURITY, A_YEAR);
    }
}

/// Marks a response to a request with a credential as personal: a cache must revalidate it for each use, and must not
/// reuse it for another credential.
pub(in crate::http) fn keep_personal(headers: &mut HeaderMap) {
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, PERSONAL);
    }
    headers.append(VARY, BY_CREDENTIAL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_what_browsers_may_do_with_it() {
        let mut headers = HeaderMap::new();
        protect(&mut headers, false);
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[REFERRER_POLICY], "no-referrer");
        assert_eq!(headers[CONTENT_SECURITY_POLICY], NOTHING);
        assert!(
            !headers.contains_key(STRICT_TRANSPORT_SECURITY),
            "plain http would be locked out"
        );
    }

    #[test]
    fn a_page_has_its_own_policy_and_https_is_kept_to() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'self'"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("origin"));
        protect(&mut headers, true);
        assert_eq!(headers[CONTENT_SECURITY_POLICY], "default-src 'self'");
        assert_eq!(headers[REFERRER_POLICY], "origin");
        assert_eq!(headers[STRICT_TRANSPORT_SECURITY], A_YEAR);
    }
}
