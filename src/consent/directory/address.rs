//! Checks the addresses that an application may register: redirect URIs under the rules of RFC 6749, RFC 8252 and RFC
//! 9700, the origins of pages with the link component, and receivers of webhooks. Other files check whether a request
//! has a registered address.

use std::net::IpAddr;

use url::{Host, Url};

/// The maximum length of an address, in bytes.
const LONGEST: usize = 2_048;
/// Schemes that open a part of the browser, a file or nothing, and never another application.
const NO_APPLICATION: [&str; 12] = [
    "about",
    "blob",
    "chrome",
    "data",
    "file",
    "filesystem",
    "ftp",
    "javascript",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Checks a redirect URI. The error is a phrase that follows the URI in a message.
pub(in crate::consent) fn check_redirect_uri(uri: &str) -> Result<(), &'static str> {
    check_letters(uri)?;
    let url = Url::parse(uri).map_err(|_| "is no absolute URI")?;
    if uri.contains('#') {
        return Err("has a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name or password");
    }
    match url.scheme() {
        "https" if written_out(&url, uri) => Ok(()),
        "http" if !is_loopback(&url) => Err("is plain http, which only addresses of the same machine may be"),
        "http" if written_out(&url, uri) => Ok(()),
        "http" | "https" => Err("is not written as browsers write it, in lower case and without . or .. in its path"),
        scheme if NO_APPLICATION.contains(&scheme) => Err("has a scheme that leads to no application"),
        // A private-use scheme is a reversed domain name (RFC 8252, section 7.1). This makes it unlikely that two
        // applications use the same one. Only the dot is checked.
        scheme if scheme.contains('.') => Ok(()),
        _ => Err("has a scheme without a dot; one looks like com.example.app:/callback"),
    }
}

/// Checks the origin of a page and returns it as browsers send it: scheme, host and port, without a trailing slash.
/// The error is a phrase that follows the origin in a message.
pub(in crate::consent) fn check_origin(origin: &str) -> Result<String, &'static str> {
    check_letters(origin)?;
    let url = Url::parse(origin).map_err(|_| "is no absolute URI")?;
    if origin.contains('*') {
        return Err("has an asterisk; every origin is registered by itself");
    }
    // Refuse these characters, because origins are written into the header Content-Security-Policy, in which the
    // characters have a meaning.
    if origin.contains([';', ',', '\'']) {
        return Err("has letters that no host has");
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() || origin.ends_with("//") {
        return Err("is more than scheme, host and port");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name or password");
    }
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => return Err("is plain http, which only addresses of the same machine may be"),
        _ => return Err("is neither https nor http"),
    }
    Ok(url.origin().ascii_serialization())
}

/// Checks the form of the address of a receiver of webhooks. The error is a phrase that follows the address in a
/// message. Which hosts may be called is decided at each call.
pub(in crate::consent) fn check_receiver(address: &str) -> Result<(), &'static str> {
    check_letters(address)?;
    let url = Url::parse(address).map_err(|_| "is no absolute URI")?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err("is neither https nor http");
    }
    if address.contains('#') {
        return Err("has a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name or password");
    }
    Ok(())
}

/// Whether the address is written as a browser writes it. Addresses are compared as strings, so two spellings of the
/// same address would differ.
fn written_out(url: &Url, text: &str) -> bool {
    url.as_str() == text || url.as_str().strip_suffix('/') == Some(text)
}

/// Whether the host is the machine on which the browser runs.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

fn check_letters(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.len() > LONGEST {
        return Err("is longer than 2048 letters");
    }
    // Refuse all other characters, because URL parsers drop or encode them. The same address could then have two
    // spellings.
    let plain =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'}');
    if !text.bytes().all(|byte| plain(byte) && byte != b'|') {
        return Err("has letters that a URI has only percent-encoded");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uris_are_those_of_web_and_native_applications() {
        for good in [
            "https://app.example/callback",
            "https://app.example",
            "https://app.example:8443/cb?tenant=1",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:51004/cb",
            "http://[::1]:9/",
            "http://localhost:3000/callback",
            "com.example.app:/callback",
            "com.example.app://callback",
        ] {
            assert_eq!(check_redirect_uri(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn other_redirect_uris_are_refused_for_a_reason() {
        for (bad, reason) in [
            ("", "empty"),
            ("/callback", "absolute"),
            ("https://app.example/cb#x", "fragment"),
            ("https://app.example/cb#", "fragment"),
            ("http://app.example/cb", "plain http"),
            ("http://192.0.2.1/cb", "plain http"),
            ("http://127.0.0.1.example/cb", "plain http"),
            ("https://me@app.example/cb", "user name"),
            ("https://App.example/cb", "written"),
            ("https://app.example/a/../cb", "written"),
            ("javascript:alert(1)", "scheme"),
            ("data:text/html,x", "scheme"),
            ("myapp:/cb", "dot"),
            ("https://app.example/<script>", "letters"),
            ("https://app.example/a b", "letters"),
            ("https://app.example/\r\nSet-Cookie:x", "letters"),
        ] {
            let problem = check_redirect_uri(bad).unwrap_err();
            assert!(problem.contains(reason), "{bad}: {problem}");
        }
        assert!(check_redirect_uri(&format!("https://x.example/{}", "y".repeat(3_000))).is_err());
    }

    #[test]
    fn receivers_have_web_addresses_without_user_and_fragment() {
        for good in [
            "https://app.example/hooks?x=1",
            "http://127.0.0.1:8099/",
            "https://app.example",
        ] {
            assert_eq!(check_receiver(good), Ok(()), "{good}");
        }
        for (bad, reason) in [
            ("", "empty"),
            ("/hooks", "absolute"),
            ("ftp://app.example/", "neither"),
            ("https://app.example/#x", "fragment"),
            ("https://me:word@app.example/", "user name"),
            ("https://app.example/a b", "letters"),
        ] {
            let problem = check_receiver(bad).unwrap_err();
            assert!(problem.contains(reason), "{bad}: {problem}");
        }
    }

    #[test]
    fn origins_are_kept_as_browsers_send_them() {
        for (given, kept) in [
            ("https://app.example", "https://app.example"),
            ("https://APP.example/", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("http://localhost:3000", "http://localhost:3000"),
        ] {
            assert_eq!(check_origin(given).as_deref(), Ok(kept));
        }
        for bad in [
            "",
            "*",
            "null",
            "app.example",
            "https://app.example/page",
            "https://app.example?x",
            "https://app.example/#",
            "http://app.example",
            "ftp://app.example",
            "https://*.example",
            "https://a;script-src-elem",
            "https://a,b.example",
            "https://a@app.example",
            "com.example.app:/x",
        ] {
            assert!(check_origin(bad).is_err(), "{bad}");
        }
    }
}
