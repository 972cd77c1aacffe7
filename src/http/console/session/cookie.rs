//! The cookie of an operator's session. Scripts cannot read it, and browsers send it only with requests that come
//! from the same site.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use url::{Host, Url};

use crate::consent::CONSOLE_SESSION_SECONDS;
use crate::http::service::Service;

const NAME: &str = "console_session";

/// Reads the cookie of a request.
pub(in crate::http::console) fn read(service: &Service, headers: &HeaderMap) -> Option<String> {
    let name = name(service.is_encrypted());
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|one| Cookie::parse(one.trim()).ok());
    let found = cookies.find(|cookie| cookie.name() == name)?;
    Some(found.value().to_owned()).filter(|value| !value.is_empty())
}

/// Returns the header that sets the cookie.
pub(in crate::http::console) fn set(service: &Service, value: &str) -> Option<HeaderValue> {
    let encrypted = service.is_encrypted();
    let secure = encrypted || !is_loopback(&service.base_url);
    written(
        name(encrypted),
        value,
        secure,
        Duration::seconds(CONSOLE_SESSION_SECONDS),
    )
}

/// Returns the header that deletes the cookie.
pub(in crate::http::console) fn cleared(service: &Service) -> Option<HeaderValue> {
    let encrypted = service.is_encrypted();
    written(name(encrypted), "", encrypted, Duration::ZERO)
}

/// Returns the cookie's name. Over TLS it has the prefix `__Host-`, which binds the cookie to this host, so no other
/// host of the domain can plant a session.
fn name(encrypted: bool) -> String {
    if encrypted {
        format!("__Host-{NAME}")
    } else {
        NAME.to_owned()
    }
}

/// Whether traffic to a URL stays on this machine.
fn is_loopback(base_url: &str) -> bool {
    let url = Url::parse(base_url).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn written(name: String, value: &str, secure: bool, age: Duration) -> Option<HeaderValue> {
    let cookie = Cookie::build((name, value))
        .path("/")
        .http_only(true)
        .secure(secure)
        .max_age(age)
        .same_site(SameSite::Strict)
        .build();
    HeaderValue::from_str(&cookie.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_has_the_attributes_that_keep_it() {
        let text = |encrypted| {
            let value = written(name(encrypted), "abc", encrypted, Duration::hours(12)).unwrap();
            value.to_str().unwrap().to_owned()
        };
        assert_eq!(
            text(true),
            "__Host-console_session=abc; HttpOnly; SameSite=Strict; Secure; Path=/; Max-Age=43200"
        );
        assert_eq!(
            text(false),
            "console_session=abc; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"
        );
        assert!(is_loopback("http://127.0.0.1:1") && !is_loopback("http://127.0.0.1.example"));
    }
}
