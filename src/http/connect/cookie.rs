//! The cookies of the flow: which session a browser is in. Scripts cannot read them, and other sites' pages do not send them, but
//! for the frame of the link component, whose cookies are kept apart for the site that holds it.

use std::borrow::Cow;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};

use crate::http::service::Service;

/// The session of the pages.
pub(super) const SESSION: &str = "svc_session";
/// The session of the window that a frame has opened for a source.
pub(super) const WINDOW: &str = "svc_window";

/// A browser that comes back later than this has nothing left to resume.
const KEPT: Duration = Duration::days(1);

/// The value of a cookie.
pub(super) fn read(service: &Service, headers: &HeaderMap, name: &str) -> Option<String> {
    found(headers, &full(name, service.is_encrypted()))
}

/// Sets a cookie; `framed` where the pages stand in another site's page.
pub(super) fn set(service: &Service, name: &str, value: &str, framed: bool) -> Option<HeaderValue> {
    written(full(name, service.is_encrypted()), value, framed, KEPT)
}

/// Takes a cookie away.
pub(super) fn cleared(service: &Service, name: &str, framed: bool) -> Option<HeaderValue> {
    written(full(name, service.is_encrypted()), "", framed, Duration::ZERO)
}

/// The whole name. Over TLS browsers keep a name with this prefix for this very host, so that no neighbour in its domain, and nobody on
/// the way by plain HTTP, can put a session of their own in its place. At plain loopback addresses they would refuse it.
fn full(name: &str, encrypted: bool) -> Cow<'_, str> {
    match encrypted {
        true => Cow::Owned(format!("__Host-{name}")),
        false => Cow::Borrowed(name),
    }
}

fn found(headers: &HeaderMap, name: &str) -> Option<String> {
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|one| Cookie::parse(one.trim()).ok());
    cookies
        .find(|cookie| cookie.name() == name)
        .map(|cookie| cookie.value().to_owned())
}

fn written(name: Cow<'_, str>, value: &str, framed: bool, age: Duration) -> Option<HeaderValue> {
    let mut cookie = Cookie::build((name, value))
        .path("/")
        .http_only(true)
        .secure(true)
        .max_age(age)
        .same_site(SameSite::Lax)
        .build();
    if framed {
        cookie.set_same_site(SameSite::None);
        cookie.set_partitioned(true);
    }
    HeaderValue::from_str(&cookie.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_have_the_attributes_that_keep_them() {
        let text = |encrypted, framed| {
            let value = written(full(SESSION, encrypted), "abc", framed, KEPT).unwrap();
            value.to_str().unwrap().to_owned()
        };
        assert_eq!(
            text(false, false),
            "svc_session=abc; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=86400"
        );
        let framed = text(true, true);
        for part in [
            "__Host-svc_session=abc;",
            "SameSite=None",
            "Partitioned",
            "Secure",
            "Path=/",
        ] {
            assert!(framed.contains(part), "{framed}");
        }
        assert!(!framed.contains("Domain"));
        let cleared = written(full(SESSION, true), "", false, Duration::ZERO).unwrap();
        assert!(cleared.to_str().unwrap().contains("Max-Age=0"));
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(
            COOKIE,
            HeaderValue::from_static("a=b; svc_session=planted; __Host-svc_session=xyz; svc_session2=no"),
        );
        headers.append(COOKIE, HeaderValue::from_static("svc_window=w"));
        assert_eq!(found(&headers, "svc_session").as_deref(), Some("planted"));
        assert_eq!(found(&headers, &full(SESSION, true)).as_deref(), Some("xyz"));
        assert_eq!(found(&headers, WINDOW).as_deref(), Some("w"));
        assert_eq!(found(&headers, "svc"), None);
    }
}
