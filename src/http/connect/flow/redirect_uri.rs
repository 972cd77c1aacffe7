//! Decides which redirect URIs belong to an application, and adds parameters to them.

use std::net::IpAddr;

use url::{Host, Url};

/// Whether `given` counts as the registered URI. The strings must be equal. Only the port of a loopback address may
/// differ, because native applications choose a free port when they start (RFC 8252, section 7.3).
pub(in crate::http::connect) fn is_registered(registered: &str, given: &str) -> bool {
    if registered == given {
        return true;
    }
    let (Ok(registered), Ok(mut moved)) = (Url::parse(registered), Url::parse(given)) else {
        return false;
    };
    // `given` must be in the URL's normalized form, so that no other spelling of the URL is accepted.
    is_loopback(&registered)
        && is_loopback(&moved)
        && moved.as_str() == given
        && moved.set_port(registered.port()).is_ok()
        && moved == registered
}

/// Whether a URL is plain HTTP to a loopback IP address. Names such as `localhost` do not count, because they may
/// resolve to any machine.
fn is_loopback(url: &Url) -> bool {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        _ => return false,
    };
    url.scheme() == "http" && address.is_loopback()
}

/// Adds parameters to the query of a redirect URI. All other parts of the URI stay as they are registered.
pub(in crate::http::connect) fn with_query(uri: &str, pairs: &[(&str, &str)]) -> String {
    let mut added = form_urlencoded::Serializer::new(String::new());
    added.extend_pairs(pairs);
    let joint = match uri.rsplit_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, query)) if query.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{uri}{joint}{}", added.finish())
}

/// Returns the expression that allows this URI in a Content-Security-Policy: its origin, or its scheme if it has no
/// origin. `None` if the URI is invalid, or if its host has characters that would change the policy.
pub(in crate::http::connect) fn policy_source(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok()?;
    match url.origin() {
        // A URL's host may contain characters that separate the parts of a policy. Return `None` for such a host.
        origin if origin.is_tuple() => {
            Some(origin.ascii_serialization()).filter(|text| !text.contains([';', ',', '\'']))
        }
        _ => Some(format!("{}:", url.scheme())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_uri_must_match_exactly() {
        let registered = "https://app.example/callback";
        assert!(is_registered(registered, registered));
        for other in [
            "https://app.example/callback/",
            "https://app.example/callback?x=1",
            "https://app.example/callback#x",
            "https://APP.example/callback",
            "https://app.example:443/callback",
            "http://app.example/callback",
            "https://app.example.evil.example/callback",
            "https://app.example@evil.example/callback",
            "https://app.example/other/../callback",
            "https://app.example/",
            "",
        ] {
            assert!(!is_registered(registered, other), "{other}");
        }
    }

    #[test]
    fn a_loopback_redirect_uri_may_have_any_port() {
        assert!(is_registered("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"));
        assert!(is_registered("http://127.0.0.1:8000/cb", "http://127.0.0.1:51004/cb"));
        assert!(is_registered("http://[::1]/cb", "http://[::1]:51004/cb"));
        for (registered, other) in [
            ("http://127.0.0.1/cb", "http://127.0.0.1:51004/other"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb?x=1"),
            ("http://127.0.0.1/cb", "http://127.0.0.2:51004/cb"),
            ("http://127.0.0.1/cb", "http://user@127.0.0.1:51004/cb"),
            ("http://127.0.0.1/cb", "http://2130706433:51004/cb"),
            ("http://127.0.0.1/cb", "http://localhost:51004/cb"),
            ("http://localhost/cb", "http://localhost:51004/cb"),
            ("https://127.0.0.1/cb", "https://127.0.0.1:51004/cb"),
            ("http://192.0.2.1/cb", "http://192.0.2.1:51004/cb"),
        ] {
            assert!(!is_registered(registered, other), "{registered} {other}");
        }
    }

    #[test]
    fn custom_schemes_match_exactly() {
        assert!(is_registered("com.example.app:/cb", "com.example.app:/cb"));
        assert!(!is_registered("com.example.app:/cb", "com.example.app://cb"));
        assert_eq!(
            policy_source("com.example.app:/cb").as_deref(),
            Some("com.example.app:")
        );
        assert_eq!(
            policy_source("https://a.example:8/x?y").as_deref(),
            Some("https://a.example:8")
        );
    }

    #[test]
    fn an_address_adds_nothing_else_to_a_policy() {
        for odd in ["http://a;sandbox/", "http://a,b.localhost/", "http://a'unsafe-inline'/"] {
            assert_eq!(policy_source(odd), None, "{odd}");
        }
    }

    #[test]
    fn parameters_are_added_to_whatever_query_there_is() {
        let pairs = [("code", "a b&c"), ("state", "é")];
        assert_eq!(
            with_query("https://a/b", &pairs),
            "https://a/b?code=a+b%26c&state=%C3%A9"
        );
        assert_eq!(
            with_query("https://a/b?x=1", &pairs[..1]),
            "https://a/b?x=1&code=a+b%26c"
        );
        assert_eq!(with_query("https://a/b?", &pairs[..1]), "https://a/b?code=a+b%26c");
        assert_eq!(with_query("app:/b", &pairs[..1]), "app:/b?code=a+b%26c");
    }
}
