//! Negotiates the format of the response: `_format` takes the place of `Accept`, JSON is the only format, and `_pretty`
//! indents it. Also reads from `Prefer` how strictly the server must handle a request.

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;

use super::super::error::Error;
use crate::search::{Handling, shortened};

/// The media type of all FHIR responses.
pub(in crate::http) const FHIR_JSON: HeaderValue = HeaderValue::from_static("application/fhir+json; charset=utf-8");

const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Returns an error if the request does not accept JSON.
pub(in crate::http) fn json_admitted(headers: &HeaderMap, format: Option<&str>) -> Result<(), Error> {
    let admitted = match format {
        Some(format) => {
            is_json(format)
                && !format
                    .split_once(';')
                    .is_some_and(|(_, rest)| is_of_other_version(rest))
        }
        None => accept_admits(headers, is_json),
    };
    if admitted {
        Ok(())
    } else {
        Err(Error::NotAcceptable("application/fhir+json"))
    }
}

/// Whether `Accept` contains a wildcard or a media type that `is` recognizes. `true` if the header is missing or
/// unreadable.
pub(in crate::http) fn accept_admits(headers: &HeaderMap, is: impl Fn(&str) -> bool) -> bool {
    let mut any = false;
    for value in headers.get_all(ACCEPT) {
        let Ok(text) = value.to_str() else { return true };
        for range in text.split(',').map(str::trim).filter(|range| !range.is_empty()) {
            any = true;
            let (media, parameters) = range.split_once(';').unwrap_or((range, ""));
            let media = media.trim();
            if !refused(parameters)
                && !is_of_other_version(parameters)
                && (media == "*/*" || media.eq_ignore_ascii_case("application/*") || is(media))
            {
                return true;
            }
        }
    }
    !any
}

/// Returns the value of a parameter in a query. If it is repeated, the last one counts.
pub(in crate::http) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let query = query.filter(|query| query.contains(name))?;
    form_urlencoded::parse(query.as_bytes())
        .filter(|(key, _)| key == name)
        .last()
        .map(|(_, value)| value.into_owned())
}

/// Whether the client requests indented JSON. An error if `_pretty` is neither true nor false.
pub(in crate::http) fn wants_pretty(query: Option<&str>) -> Result<bool, Error> {
    pretty_value(parameter(query, "_pretty").as_deref())
}

/// Parses the value of `_pretty`. An empty value means true.
pub(in crate::http) fn pretty_value(value: Option<&str>) -> Result<bool, Error> {
    match value {
        None | Some("false") => Ok(false),
        Some("true" | "") => Ok(true),
        Some(other) => Err(Error::Invalid(format!(
            "_pretty: '{}' is not true or false",
            shortened(other)
        ))),
    }
}

/// The handling that a request prefers. `None` if it states no preference. Of several, the first one counts (RFC
/// 7240).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Preferred(Option<Handling>);

impl Preferred {
    /// Reads `handling=strict` or `handling=lenient` from the headers `Prefer`.
    pub(in crate::http) fn by(headers: &HeaderMap) -> Preferred {
        let mut preferences = headers
            .get_all(PREFER)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|text| text.split([',', ';']));
        Preferred(preferences.find_map(|preference| {
            let (name, value) = preference.split_once('=')?;
            if !name.trim().eq_ignore_ascii_case("handling") {
                return None;
            }
            match value.trim().trim_matches('"') {
                value if value.eq_ignore_ascii_case("strict") => Some(Handling::Strict),
                value if value.eq_ignore_ascii_case("lenient") => Some(Handling::Lenient),
                _ => None,
            }
        }))
    }

    /// Returns the handling to apply. It is lenient by default, as in FHIR.
    pub(in crate::http) fn handling(self) -> Handling {
        self.0.unwrap_or_default()
    }

    /// Returns a FHIR response. If the request states a preference, a header confirms it.
    pub(in crate::http) fn answer(self, body: Body) -> Response {
        let mut response = Response::new(body);
        response.headers_mut().insert(CONTENT_TYPE, FHIR_JSON);
        self.confirm(response.headers_mut());
        response
    }

    /// Adds the header `Preference-Applied`, if the request states a preference.
    pub(in crate::http) fn confirm(self, answer: &mut HeaderMap) {
        let met = match self.0 {
            Some(Handling::Strict) => "handling=strict",
            Some(Handling::Lenient) => "handling=lenient",
            None => return,
        };
        answer.insert(PREFERENCE_APPLIED, HeaderValue::from_static(met));
    }
}

/// Whether the parameters contain `q=0`, which excludes the media type.
fn refused(parameters: &str) -> bool {
    parameters
        .split(';')
        .filter_map(|parameter| parameter.trim().strip_prefix("q="))
        .any(|q| q.parse() == Ok(0.0_f32))
}

/// Whether the parameter `fhirVersion` is another version than the server's.
fn is_of_other_version(parameters: &str) -> bool {
    let mut parameters = parameters.split(';').filter_map(|parameter| parameter.split_once('='));
    parameters.any(|(name, value)| {
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("fhirVersion") && !matches!(value, "4.0" | "4.0.1")
    })
}

fn is_json(media: &str) -> bool {
    let media = media.split(';').next().unwrap_or(media).trim();
    // The name with a space is `application/fhir+json` in a query value that does not encode the `+`. A `+` is decoded
    // as a space there.
    [
        "application/fhir+json",
        "application/fhir json",
        "application/json",
        "application/json+fhir",
        "text/json",
        "json",
    ]
    .iter()
    .any(|known| media.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(accept: &str, format: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        if !accept.is_empty() {
            headers.insert(ACCEPT, accept.parse().unwrap());
        }
        json_admitted(&headers, format).is_ok()
    }

    #[test]
    fn json_and_wildcards_are_admitted() {
        for accept in [
            "",
            "*/*",
            "application/*",
            "application/json",
            "application/fhir+json; fhirVersion=4.0",
            "text/html,application/xml;q=0.9,*/*;q=0.8",
            "application/fhir+xml, application/fhir+json;q=0.1",
        ] {
            assert!(admitted(accept, None), "{accept}");
        }
        assert!(!admitted("application/fhir+xml", None));
        assert!(!admitted("text/html", None));
        assert!(!admitted("application/json;q=0", None));
    }

    #[test]
    fn the_first_wish_counts() {
        for (prefer, preferred) in [
            ("handling=strict", Some(Handling::Strict)),
            ("return=minimal, Handling = \"LENIENT\"", Some(Handling::Lenient)),
            (
                "respond-async; handling=lenient, handling=strict",
                Some(Handling::Lenient),
            ),
            ("handling=harsh", None),
            ("handling", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(PREFER, prefer.parse().unwrap());
            assert_eq!(Preferred::by(&headers), Preferred(preferred), "{prefer}");
        }
    }

    #[test]
    fn format_goes_before_accept() {
        assert!(admitted("application/fhir+xml", Some("json")));
        assert!(admitted("application/fhir+xml", Some("application/fhir json")));
        assert!(!admitted("application/json", Some("xml")));
    }
}
