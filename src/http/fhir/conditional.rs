//! The `ETag` and `Last-Modified` of a resource, and checks whether a client already has the resource (RFC 9110,
//! section 13).

use std::time::{Duration, UNIX_EPOCH};

use axum::http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue};

/// The version of a resource, as the headers of its response show it.
pub(in crate::http) struct Version {
    version: i64,
    /// Seconds since the Unix epoch, because HTTP dates have no fractions.
    modified: i64,
}

impl Version {
    /// Creates a version from its number and the time of its commit in microseconds.
    pub(in crate::http) fn new(version: i64, last_updated_micros: i64) -> Version {
        Version {
            version,
            modified: last_updated_micros.div_euclid(1_000_000),
        }
    }

    /// Returns the ETag as FHIR defines it: `W/"3"`.
    pub(in crate::http) fn etag(&self) -> HeaderValue {
        let mut text = [0u8; 24];
        let end = {
            use std::io::Write as _;
            let mut rest = &mut text[..];
            // A 64-bit number and four more characters always fit.
            let _ = write!(rest, "W/\"{}\"", self.version);
            24 - rest.len()
        };
        HeaderValue::from_bytes(&text[..end]).unwrap_or(HeaderValue::from_static("W/\"0\""))
    }

    /// Returns the time of the commit as an HTTP date. `None` before 1970.
    pub(in crate::http) fn last_modified(&self) -> Option<HeaderValue> {
        let time = UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(self.modified).ok()?))?;
        HeaderValue::from_str(&httpdate::HttpDate::from(time).to_string()).ok()
    }

    /// Whether the client has this version, by `If-None-Match`, or without this header by `If-Modified-Since`.
    pub(in crate::http) fn is_held(&self, headers: &HeaderMap) -> bool {
        let mut tags = headers.get_all(IF_NONE_MATCH).iter().peekable();
        if tags.peek().is_some() {
            let mut tags = tags
                .filter_map(|value| value.to_str().ok())
                .flat_map(|text| text.split(','));
            return tags.any(|tag| self.is_tagged(tag.trim()));
        }
        let mut times = headers.get_all(IF_MODIFIED_SINCE).iter();
        let time = times.next().filter(|_| times.next().is_none());
        time.and_then(|value| seconds(value.to_str().ok()?))
            .is_some_and(|at| self.modified <= at)
    }

    /// Whether the client has these bytes, which have an ETag of their own: by `If-None-Match`, or without this
    /// header by `If-Modified-Since`.
    pub(in crate::http) fn is_held_as(&self, tag: &Tag, headers: &HeaderMap) -> bool {
        let mut tags = headers.get_all(IF_NONE_MATCH).iter().peekable();
        if tags.peek().is_none() {
            return self.is_held(headers);
        }
        let tags = tags
            .filter_map(|value| value.to_str().ok())
            .flat_map(|text| text.split(','));
        tags.map(str::trim)
            .any(|text| text == "*" || tag.is(text.strip_prefix("W/").unwrap_or(text)))
    }

    /// Whether the date of an `If-Range` is the time of this version.
    pub(in crate::http) fn is_dated(&self, text: &str) -> bool {
        seconds(text) == Some(self.modified)
    }

    fn is_tagged(&self, tag: &str) -> bool {
        let opaque = tag.strip_prefix("W/").unwrap_or(tag);
        let quoted = opaque.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        // Only one spelling of a number counts: `+3` and `03` are other tags.
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        tag == "*" || quoted.is_some_and(|text| is_number(text) && text.parse() == Ok(self.version))
    }
}

/// The strong ETag of a Binary's bytes.
pub(in crate::http) struct Tag(String);

impl Tag {
    /// Creates the ETag from a hexadecimal digest of the bytes.
    pub(in crate::http) fn of(digest: &str) -> Tag {
        Tag(format!("\"{}\"", &digest[..digest.len().min(32)]))
    }

    /// Returns the value of the header.
    pub(in crate::http) fn value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("\"\""))
    }

    /// Whether the string is this ETag. A weak ETag never is.
    pub(in crate::http) fn is(&self, text: &str) -> bool {
        text == self.0
    }
}

fn seconds(text: &str) -> Option<i64> {
    let time = httpdate::parse_http_date(text).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(version: &Version, name: axum::http::HeaderName, value: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        version.is_held(&headers)
    }

    #[test]
    fn tags_compare_weakly() {
        let version = Version::new(12, 0);
        assert_eq!(version.etag(), "W/\"12\"");
        for tag in ["W/\"12\"", "\"12\"", "*", "\"3\", W/\"12\""] {
            assert!(held(&version, IF_NONE_MATCH, tag), "{tag}");
        }
        for tag in [
            "W/\"1\"",
            "12",
            "\"",
            "W/",
            "\"x\"",
            "\"+12\"",
            "W/\"012\"",
            "w/\"12\"",
            "\"\"",
            "",
        ] {
            assert!(!held(&version, IF_NONE_MATCH, tag), "{tag}");
        }
    }

    #[test]
    fn times_compare_by_the_second() {
        let version = Version::new(1, 784_111_777_999_999);
        assert_eq!(version.last_modified().unwrap(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert!(held(&version, IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:37 GMT"));
        assert!(!held(&version, IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT"));
        assert!(!held(&version, IF_MODIFIED_SINCE, "yesterday"));
    }

    #[test]
    fn a_tag_silences_the_time() {
        let version = Version::new(2, 0);
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"1\""));
        headers.insert(
            IF_MODIFIED_SINCE,
            HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT"),
        );
        assert!(!version.is_held(&headers));
    }
}
