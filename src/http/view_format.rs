//! What a view's rows are written as: the parameter `_format` before the query's, both before `Accept`; JSON otherwise.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use super::error::Error;
use crate::views::Format;

/// The format that a request asks for.
pub(super) fn chosen(parameter: Option<Format>, query: Option<&str>, headers: &HeaderMap) -> Result<Format, Error> {
    if let Some(format) = parameter {
        return Ok(format);
    }
    match query {
        Some(name) => {
            Format::parse(name).ok_or_else(|| Error::Invalid("_format is json, csv, ndjson or parquet".to_owned()))
        }
        None => Ok(accepted(headers).unwrap_or(Format::Json)),
    }
}

/// The first of the formats that `Accept` likes best.
fn accepted(headers: &HeaderMap) -> Option<Format> {
    let mut best: Option<(f32, Format)> = None;
    let texts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for range in texts.flat_map(|text| text.split(',')) {
        let (media, parameters) = range.split_once(';').unwrap_or((range, ""));
        let quality = parameters
            .split(';')
            .find_map(|parameter| parameter.trim().strip_prefix("q="));
        let quality: f32 = quality.and_then(|text| text.trim().parse().ok()).unwrap_or(1.0);
        let format = match media.trim() {
            "*/*" | "application/*" => Some(Format::Json),
            "text/*" => Some(Format::Csv { header: true }),
            media => Format::parse(media),
        };
        if let Some(format) = format
            && quality > 0.0
            && best.is_none_or(|(found, _)| quality > found)
        {
            best = Some((quality, format));
        }
    }
    best.map(|(_, format)| format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_decides_where_nothing_else_does() {
        let csv = Format::Csv { header: true };
        for (accept, expected) in [
            ("", Format::Json),
            ("*/*", Format::Json),
            ("text/csv", csv),
            ("application/json;q=0.5, text/csv", csv),
            ("text/csv;q=0, application/json", Format::Json),
            (
                "text/html, application/vnd.apache.parquet;q=0.9, */*;q=0.1",
                Format::Parquet,
            ),
            ("application/x-ndjson", Format::Ndjson),
            ("text/html", Format::Json),
        ] {
            let mut headers = HeaderMap::new();
            if !accept.is_empty() {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            assert_eq!(chosen(None, None, &headers).unwrap(), expected, "{accept}");
            assert_eq!(chosen(None, Some("ndjson"), &headers).unwrap(), Format::Ndjson);
            assert_eq!(chosen(Some(csv), Some("ndjson"), &headers).unwrap(), csv);
        }
        assert!(chosen(None, Some("xml"), &HeaderMap::new()).is_err());
    }
}
