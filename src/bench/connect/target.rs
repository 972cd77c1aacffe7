//! The parsed base URL of a FHIR server.

use axum::http::Uri;

use super::super::error::BenchError;

/// The server that gets the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The FHIR base URL without a trailing slash.
    pub(in crate::bench) url: String,
    pub(in crate::bench) secure: bool,
    pub(in crate::bench) host: String,
    pub(in crate::bench) port: u16,
    /// The value of the header `Host`.
    pub(in crate::bench) authority: String,
    /// The path of the base URL, without a trailing slash. The paths of all requests begin with it.
    pub(in crate::bench) path: String,
}

impl Target {
    /// Parses a FHIR base URL.
    pub fn parse(text: &str) -> Result<Target, BenchError> {
        let bad = || BenchError::Url(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| bad())?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(bad()),
        };
        let authority = uri.authority().ok_or_else(bad)?;
        if authority.as_str().contains('@') || text.contains(['?', '#']) || authority.host().is_empty() {
            return Err(bad());
        }
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        Ok(Target {
            url: text.trim_end_matches('/').to_owned(),
            secure,
            host: host.to_owned(),
            port,
            authority: authority.as_str().to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Returns the path and query of a link that the server returned, absolute or relative. `None` if the link is not
    /// valid.
    pub(in crate::bench) fn path_of(&self, link: &str) -> Option<String> {
        if link.contains(|character: char| character.is_ascii_control() || character == ' ') {
            return None;
        }
        if link.starts_with('/') {
            return Some(link.to_owned());
        }
        if link.contains("://") {
            let uri: Uri = link.parse().ok()?;
            return uri.path_and_query().map(|path| path.as_str().to_owned());
        }
        Some(if link.starts_with('?') {
            format!("{}{link}", self.path)
        } else {
            format!("{}/{link}", self.path)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let target = Target::parse("https://fhir.example.org/r4/").unwrap();
        assert_eq!(
            (target.secure, target.host.as_str(), target.port, target.path.as_str()),
            (true, "fhir.example.org", 443, "/r4")
        );
        assert_eq!(target.url, "https://fhir.example.org/r4");
        let target = Target::parse("http://[::1]:8080/fhir").unwrap();
        assert_eq!(
            (target.host.as_str(), target.port, target.authority.as_str()),
            ("::1", 8080, "[::1]:8080")
        );
        for bad in [
            "",
            "x",
            "ftp://x",
            "http://",
            "http://a@b/fhir",
            "http://x/fhir?y",
            "/fhir",
            "http://x/#y",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn links_become_paths_whatever_their_form() {
        let target = Target::parse("http://127.0.0.1:8080/fhir").unwrap();
        for (link, path) in [
            ("http://other/fhir/Patient?_tag=x", "/fhir/Patient?_tag=x"),
            ("/fhir/Patient?a", "/fhir/Patient?a"),
            ("Patient?a", "/fhir/Patient?a"),
            ("?page=2", "/fhir?page=2"),
        ] {
            assert_eq!(target.path_of(link).as_deref(), Some(path), "{link}");
        }
        for bad in ["http://", "/fhir HTTP/1.1", "/fhir\r\nHost: x"] {
            assert_eq!(target.path_of(bad), None, "{bad}");
        }
    }
}
