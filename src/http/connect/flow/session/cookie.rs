//! The cookies of the flow, which identify a browser's session. Scripts cannot read them. Browsers do not send them
//! with requests that other sites' pages make. The link component's frame in another site's page is the exception. Its
//! cookies are sent, but browsers keep them apart for each site that embeds the frame (partitioned cookies).

use std::borrow::Cow;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use url::{Host, Url};

use crate::http::service::Service;

/// The cookie of the session.
pub(in crate::http::connect) const SESSION: &str = "svc_session";
/// The cookie of the window that a frame opened for a source.
pub(in crate::http::connect) const WINDOW: &str = "svc_window";

/// How long a browser keeps a cookie: a day. After that no session can be resumed.
const KEPT: Duration = Duration::days(1);

/// Returns the value of a cookie. `None` if the request does not have it.
pub(in crate::http::connect) fn read(service: &Service, headers: &HeaderMap, name: &str) -> Option<String> {
    found(headers, &full(name, service.is_encrypted()))
}

/// Returns the header that sets a cookie. `framed` says whether the page is in a frame of another site's page.
pub(in crate::http::connect) fn set(service: &Service, name: &str, value: &str, framed: bool) -> Option<HeaderValue> {
    let secure = is_secure(service, framed);
    written(full(name, service.is_encrypted()), value, framed, secure, KEPT)
}

/// Returns the header that deletes a cookie.
pub(in crate::http::connect) fn cleared(service: &Service, name: &str, framed: bool) -> Option<HeaderValue> {
    let secure = is_secure(service, framed);
    written(full(name, service.is_encrypted()), "", framed, secure, Duration::ZERO)
}

/// Whether a cookie gets the attribute `Secure`. At plain HTTP loopback addresses it does not get it: Safari and
/// scripted clients would drop the cookie there, and the traffic does not leave the machine. A frame's cookie always
/// needs the attribute.
fn is_secure(service: &Service, framed: bool) -> bool {
    framed || service.is_encrypted() || !is_loopback(&service.base_url)
}

fn is_loopback(base_url: &str) -> bool {
    let host = Url::parse(base_url).ok();
    match host.as_ref().and_then(Url::host) {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Returns the cookie's full name. Over TLS it has the prefix `__Host-`, which binds the cookie to this host. So
/// neither another host of the domain nor an attacker on plain HTTP can plant a session. Browsers refuse the prefix
/// on plain HTTP.
fn full(name: &str, encrypted: bool) -> Cow<'_, str> {
    if encrypted {
        Cow::Owned(format!("__Host-{name}"))
    } else {
        Cow::Borrowed(name)
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

fn written(name: Cow<'_, str>, value: &str, framed: bool, secure: bool, age: Duration) -> Option<HeaderValue> {
    let mut cookie = Cookie::build((name, value))
        .path("/")
        .http_only(true)
        .secure(secure)
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
            let value = written(full(SESSION, encrypted), "abc", framed, encrypted, KEPT).unwrap();
            value.to_str().unwrap().to_owned()
        };
        assert_eq!(
            text(true, false),
            "__Host-svc_session=abc; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=86400"
        );
        assert_eq!(
            text(false, false),
            "svc_session=abc; HttpOnly; SameSite=Lax; Path=/; Max-Age=86400"
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
        let cleared = written(full(SESSION, true), "", false, true, Duration::ZERO).unwrap();
        assert!(cleared.to_str().unwrap().contains("Max-Age=0"));
    }

    #[test]
    fn loopback_addresses_are_told_from_others() {
        for here in ["http://127.0.0.1:8080", "http://localhost/x", "http://[::1]:1"] {
            assert!(is_loopback(here), "{here}");
        }
        for elsewhere in [
            "http://192.168.1.2",
            "http://127.0.0.1.example",
            "http://localhost.example",
            "http://[2001:db8::1]",
            "nothing",
        ] {
            assert!(!is_loopback(elsewhere), "{elsewhere}");
        }
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
