//! Chooses the format of a view's rows: by `_format`, or else by `Accept`. Without both it is JSON.

use axum::http::HeaderMap;

use super::accept::Accept;
use crate::http::error::Error;
use crate::views::Format;

/// The formats in order of preference, each with its media types. The first media type is the format's own. The others
/// are alternative names, which a wildcard in `Accept` does not match.
const FORMATS: [(Format, &[&str]); 4] = [
    (
        Format::Json,
        &["application/json", "application/fhir+json", "text/json"],
    ),
    (Format::Csv { header: true }, &["text/csv"]),
    (
        Format::Ndjson,
        &["application/x-ndjson", "application/ndjson", "application/fhir+ndjson"],
    ),
    (
        Format::Parquet,
        &["application/vnd.apache.parquet", "application/octet-stream"],
    ),
];

/// The media types of a view's rows, for error messages.
pub(in crate::http) const SERVED: &str =
    "application/json, text/csv, application/x-ndjson and application/vnd.apache.parquet";

/// Returns the format that a request wants. An error if it accepts none.
pub(in crate::http) fn chosen(parameter: Option<Format>, headers: &HeaderMap) -> Result<Format, Error> {
    match (parameter, Accept::of(headers)) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(Format::Json),
        (None, Some(accept)) => best(&accept).ok_or(Error::NotAcceptable(SERVED)),
    }
}

/// Returns the accepted format with the highest weight. Among equals, the first in the header wins, then the first in
/// [`FORMATS`].
fn best(accept: &Accept) -> Option<Format> {
    let mut best: Option<(f32, usize, Format)> = None;
    for (format, media) in FORMATS {
        let welcomes = media.iter().enumerate().filter_map(|(place, media)| {
            let welcome = accept.welcomes(media)?;
            // A wildcard matches only the format's own media type.
            (place == 0 || accept.names(media)).then_some(welcome)
        });
        for welcome in welcomes {
            let better = best.is_none_or(|(quality, place, _)| {
                welcome.quality > quality || (welcome.quality == quality && welcome.place < place)
            });
            if better {
                best = Some((welcome.quality, welcome.place, format));
            }
        }
    }
    best.map(|(_, _, format)| format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::ACCEPT;

    fn headers(accept: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if !accept.is_empty() {
            headers.insert(ACCEPT, accept.parse().unwrap());
        }
        headers
    }

    #[test]
    fn accept_decides_where_nothing_else_does() {
        let csv = Format::Csv { header: true };
        for (accept, expected) in [
            ("", Format::Json),
            ("*/*", Format::Json),
            ("application/*", Format::Json),
            ("text/*", csv),
            ("text/csv", csv),
            ("text/csv, application/json", csv),
            ("application/json;q=0.5, text/csv", csv),
            ("application/json;q=0.5, text/csv;q=0.4", Format::Json),
            ("text/csv;q=0, application/json", Format::Json),
            ("application/json;q=0, */*", csv),
            (
                "text/html, application/vnd.apache.parquet;q=0.9, */*;q=0.1",
                Format::Parquet,
            ),
            ("application/x-ndjson", Format::Ndjson),
            ("application/fhir+json;fhirVersion=4.0", Format::Json),
            ("application/octet-stream", Format::Parquet),
            ("application/fhir+xml, application/fhir+json;q=0.1", Format::Json),
        ] {
            assert_eq!(chosen(None, &headers(accept)).unwrap(), expected, "{accept}");
            assert_eq!(chosen(Some(Format::Ndjson), &headers(accept)).unwrap(), Format::Ndjson);
        }
    }

    #[test]
    fn what_admits_nothing_served_is_refused() {
        for accept in [
            "text/html",
            "application/xml",
            "application/fhir+xml, text/xml;q=0.5",
            "*/*;q=0",
            "application/json;q=0",
        ] {
            assert!(chosen(None, &headers(accept)).is_err(), "{accept}");
            assert!(chosen(Some(Format::Json), &headers(accept)).is_ok(), "{accept}");
        }
    }
}
