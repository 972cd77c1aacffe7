//! The cookies of the flow: which session a browser is in. Scripts cannot read them, and other sites' pages do not send them, but
//! for the frame of the link component, whose cookies are kept apart for the site that holds it.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use cookie::time::Duration;
use cookie::{Cookie, SameSite};

/// The session of the pages.
pub(super) const SESSION: &str = "svc_session";
/// The session of the window that a frame has opened for a source.
pub(super) const WINDOW: &str = "svc_window";

/// A browser that comes back later than this has nothing left to resume.
const KEPT: Duration = Duration::days(1);

/// The value of a cookie.
pub(super) fn read(headers: &HeaderMap, name: &str) -> Option<String> {
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|one| Cookie::parse(one.trim()).ok());
    cookies
        .find(|cookie| cookie.name() == name)
        .map(|cookie| cookie.value().to_owned())
}

/// Sets a cookie; `framed` where the pages stand in another site's page.
pub(super) fn set(name: &'static str, value: &str, framed: bool) -> Option<HeaderValue> {
    written(name, value, framed, KEPT)
}

/// Takes a cookie away.
pub(super) fn cleared(name: &'static str, framed: bool) -> Option<HeaderValue> {
    written(name, "", framed, Duration::ZERO)
}

fn written(name: &'static str, value: &str, framed: bool, age: Duration) -> Option<HeaderValue> {
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
        let text = |value: Option<HeaderValue>| value.unwrap().to_str().unwrap().to_owned();
        let plain = text(set(SESSION, "abc", false));
        assert_eq!(
            plain,
            "svc_session=abc; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=86400"
        );
        let framed = text(set(SESSION, "abc", true));
        assert!(framed.contains("SameSite=None") && framed.contains("Partitioned") && framed.contains("Secure"));
        assert!(text(cleared(SESSION, false)).contains("Max-Age=0"));
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(
            COOKIE,
            HeaderValue::from_static("a=b; svc_session=xyz; svc_session2=no"),
        );
        headers.append(COOKIE, HeaderValue::from_static("svc_window=w"));
        assert_eq!(read(&headers, SESSION).as_deref(), Some("xyz"));
        assert_eq!(read(&headers, WINDOW).as_deref(), Some("w"));
        assert_eq!(read(&headers, "svc"), None);
    }
}
