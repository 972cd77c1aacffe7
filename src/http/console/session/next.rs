//! The page of the console that opens after sign-in. The address comes from the browser, so it is checked: it leads
//! nowhere but to a page of the console.

use axum::http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::super::shown::page;
use crate::http::service::Service;

/// Stands for the service when an address is resolved.
const HERE: &str = "http://console.invalid";

/// The address of the requested page.
pub(in crate::http::console) fn of(service: &Service, uri: &Uri) -> Option<String> {
    let asked = uri.path_and_query()?.as_str();
    checked(service, &format!("{}{asked}", service.base_path()))
}

/// An address if it is a page of the console: a path with or without a query. Sign-in itself is none.
pub(in crate::http::console) fn checked(service: &Service, address: &str) -> Option<String> {
    let short = address.len() <= service.limits.url;
    (short && is_below(&page::address(service, ""), address)).then(|| address.to_owned())
}

/// The sign-in form that leads on to an address.
pub(in crate::http::console) fn sign_in(service: &Service, next: Option<&str>) -> String {
    let form = page::address(service, "/sign-in");
    let query = next.map(|next| format!("{form}?next={}", utf8_percent_encode(next, NON_ALPHANUMERIC)));
    // A longer address would be refused.
    query
        .filter(|address| address.len() <= service.limits.url)
        .unwrap_or(form)
}

fn is_below(root: &str, address: &str) -> bool {
    // A browser reads a backslash as a slash, and leaves out line breaks.
    if !address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return false;
    }
    let path = address.split('?').next().unwrap_or_default();
    let Some(rest) = path.strip_prefix(root) else {
        return false;
    };
    let is_page = rest.is_empty() || rest.starts_with('/') && !rest.contains("//");
    // If the path stays the same, it has no dot segments that lead out of the console.
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
