//! Reads `Accept` as RFC 9110 defines it: which media types a client accepts, and how it ranks them.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// The media ranges of a request's `Accept`, in their order.
#[derive(Debug)]
pub(in crate::http) struct Accept(Vec<Range>);

#[derive(Debug)]
struct Range {
    /// The main type in lower case. `*` means any type.
    main_type: String,
    subtype: String,
    quality: f32,
}

/// How a client ranks a media type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::http) struct Welcome {
    /// The weight: above 0, at most 1.
    pub(in crate::http) quality: f32,
    /// The position of the range that decided, among all ranges of the header.
    pub(in crate::http) place: usize,
}

impl Accept {
    /// Reads the header. `None` if it is missing, empty or unreadable. The client then accepts anything.
    pub(in crate::http) fn of(headers: &HeaderMap) -> Option<Accept> {
        let texts = headers.get_all(ACCEPT).iter().map(|value| value.to_str().ok());
        let texts: Vec<&str> = texts.collect::<Option<_>>()?;
        let ranges: Vec<Range> = texts
            .iter()
            .flat_map(|text| text.split(','))
            .filter_map(Range::parse)
            .collect();
        (!ranges.is_empty()).then_some(Accept(ranges))
    }

    /// Whether the header contains this media type itself, not only a wildcard for it.
    pub(in crate::http) fn names(&self, media: &str) -> bool {
        let is = |range: &Range| media.split_once('/') == Some((&range.main_type, &range.subtype));
        self.0.iter().any(is)
    }

    /// Returns how the client ranks this media type. The most specific range decides. `None` if the client does not
    /// accept it.
    pub(in crate::http) fn welcomes(&self, media: &str) -> Option<Welcome> {
        let (main_type, subtype) = media.split_once('/')?;
        let fits = |range: &Range| match (range.main_type.as_str(), range.subtype.as_str()) {
            ("*", "*") => Some(0),
            (named, "*") if named == main_type => Some(1),
            (named, exactly) if named == main_type && exactly == subtype => Some(2),
            _ => None,
        };
        let fitting = self.0.iter().enumerate().filter_map(|(place, range)| {
            let closeness = fits(range)?;
            Some((closeness, place, range.quality))
        });
        // Of two equally specific ranges, the first decides.
        let (_, place, quality) =
            fitting.max_by_key(|(closeness, place, _)| (*closeness, std::cmp::Reverse(*place)))?;
        (quality > 0.0).then_some(Welcome { quality, place })
    }
}

impl Range {
    /// Parses a media range. Parameters other than `q` are ignored. `None` if it is malformed.
    fn parse(text: &str) -> Option<Range> {
        let mut parts = text.split(';');
        let (main_type, subtype) = parts.next()?.trim().split_once('/')?;
        let quality = parts.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim()
                .eq_ignore_ascii_case("q")
                .then(|| value.trim().parse::<f32>())
        });
        let quality = quality.and_then(Result::ok).filter(|quality| quality.is_finite());
        Some(Range {
            main_type: main_type.trim().to_ascii_lowercase(),
            subtype: subtype.trim().to_ascii_lowercase(),
            quality: quality.unwrap_or(1.0).clamp(0.0, 1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(text: &str) -> Option<Accept> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, text.parse().unwrap());
        Accept::of(&headers)
    }

    #[test]
    fn the_closest_range_decides() {
        let accept = accept("text/*;q=0.5, TEXT/csv ; Q=0.25, */*;q=0.1, text/html;q=0").unwrap();
        let quality = |media| accept.welcomes(media).map(|welcome| welcome.quality);
        assert_eq!(quality("text/csv"), Some(0.25));
        assert_eq!(quality("text/plain"), Some(0.5));
        assert_eq!(quality("application/json"), Some(0.1));
        assert_eq!(quality("text/html"), None);
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        assert!(accept("").is_none() && accept(" , ").is_none() && accept("json").is_none());
        let odd = accept("text/csv;q=much, application/json;q=nan, a/b;q=7").unwrap();
        for media in ["text/csv", "application/json", "a/b"] {
            assert_eq!(odd.welcomes(media).unwrap().quality, 1.0);
        }
        assert_eq!(odd.welcomes("text/plain"), None);
    }
}
