//! Decides which page opens after sign-in. Its URL comes from the browser, so the URL is accepted only if it leads to a
//! page of the console.

use axum::http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::super::shown::page;
use crate::http::service::Service;

/// A base URL for resolving paths.
const HERE: &str = "http://console.invalid";

/// Returns the URL path and query of the requested page. `None` if it is no page of the console.
pub(in crate::http::console) fn of(service: &Service, uri: &Uri) -> Option<String> {
    let asked = uri.path_and_query()?.as_str();
    checked(service, &format!("{}{asked}", service.base_path()))
}

/// Returns the address if it leads to a page of the console: a path, with or without a query. Pages of sign-in and
/// assets do not count.
pub(in crate::http::console) fn checked(service: &Service, address: &str) -> Option<String> {
    let short = address.len() <= service.limits.url;
    (short && is_below(&page::address(service, ""), address)).then(|| address.to_owned())
}

/// Returns the address of the sign-in form that leads to `next`.
pub(in crate::http::console) fn sign_in(service: &Service, next: Option<&str>) -> String {
    let form = page::address(service, "/sign-in");
    let query = next.map(|next| format!("{form}?next={}", utf8_percent_encode(next, NON_ALPHANUMERIC)));
    // The server would refuse a longer address. So leave `next` out if the address becomes too long.
    query
        .filter(|address| address.len() <= service.limits.url)
        .unwrap_or(form)
}

fn is_below(root: &str, address: &str) -> bool {
    // Browsers read a backslash as a slash, and ignore line breaks. So refuse an address with such characters.
    if !address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return false;
    }
    let path = address.split('?').next().unwrap_or_default();
    let Some(rest) = path.strip_prefix(root) else {
        return false;
    };
    let is_page = rest.is_empty() || rest.starts_with('/') && !rest.contains("//");
    // If resolving does not change the path, it has no dot segments that lead out of the console.
    let resolved = Url::parse(HERE).and_then(|here| here.join(address));
    let stays = resolved
        .is_ok_and(|url| url.origin().ascii_serialization() == HERE && url.path() == path && url.fragment().is_none());
    is_page && stays && !rest.starts_with("/sign-") && !rest.starts_with("/assets/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_console_are_led_to() {
        for good in [
            "/console",
            "/console?application=x",
            "/console/views/live/local?d=eJw_-&kind=bar",
            "/console/data/live/my%2Fapp/Patient?q=_count%3D50",
        ] {
            assert!(is_below("/console", good), "{good}");
            assert!(is_below("/base/console", &format!("/base{good}")), "{good}");
        }
        for bad in [
            "",
            "/",
            "/fhir/Patient",
            "//evil.example",
            "//evil.example/console",
            "https://evil.example/console",
            "http:/console",
            "javascript:alert(1)",
            "console",
            "/consolex",
            "/console.evil.example",
            "/console@evil.example",
            "/console//evil.example",
            "/console/../fhir/Patient",
            "/console/%2e%2e/fhir/Patient",
            "/console/.%2E/fhir",
            "/console/./kept/audit",
            "/console/\\evil.example",
            "\\\\evil.example/console",
            "/console/kept\n/audit",
            "/console/kept/audit\r\nSet-Cookie: a=b",
            "/console/ kept",
            "/console/kept/\u{e9}",
            "/console#//evil.example",
            "/console/sign-in?token=x",
            "/console/sign-out",
            "/console/assets/console.css",
        ] {
            assert!(!is_below("/console", bad), "{bad:?}");
        }
        assert!(!is_below("/base/console", "/console"));
    }
}
