//! Decides the language of the pages: the one that the patient chose, or else the one that their browser prefers.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::response::Response;

use super::super::flow::parameters::Parameters;
use super::super::flow::session::cookie;
use super::super::page::answer::{see_other, with_cookie};
use super::languages::Languages;
use super::texts::Texts;
use crate::http::service::Service;

/// The cookie with the language that the patient chose or the application requested.
const COOKIE: &str = "svc_language";
/// The query parameter of the language switch.
const PARAMETER: &str = "language";

/// Returns the texts for a request with these headers.
pub(in crate::http) fn of(service: &Service, headers: &HeaderMap) -> &'static Texts {
    let languages = &service.pages.languages;
    let chosen = cookie::read(service, headers, COOKIE).and_then(|tag| languages.find(&tag));
    let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    chosen.unwrap_or_else(|| accepted_among(languages, accepted.unwrap_or_default()))
}

/// Returns the first known language that an application requests by `ui_locales`. This parameter lists languages in
/// order of preference (OpenID Connect Core, section 3.1.2.1).
pub(in crate::http::connect) fn named(service: &Service, parameters: &Parameters) -> Option<&'static Texts> {
    let wanted = parameters.sole("ui_locales")?;
    wanted
        .split_whitespace()
        .find_map(|tag| service.pages.languages.find(tag))
}

/// Answers a request with `?language=`: sets the cookie for this language, and redirects to `address`. `None` if the
/// query names no known language.
pub(in crate::http) fn switched(
    service: &Service,
    query: Option<&str>,
    address: &str,
    framed: bool,
) -> Option<Response> {
    let texts = picked(service, &Parameters::parse(query?.as_bytes()))?;
    Some(with_language(service, see_other(address), texts, framed))
}

/// Returns the language that a link of the language switch names.
pub(in crate::http::connect) fn picked(service: &Service, parameters: &Parameters) -> Option<&'static Texts> {
    service.pages.languages.find(parameters.sole(PARAMETER)?)
}

/// Returns a page's relative URL with this query, without the parameter of the language switch.
pub(in crate::http::connect) fn here(query: &str) -> String {
    let is_ours = |pair: &&str| pair.split('=').next() == Some(PARAMETER);
    let rest: Vec<&str> = query.split('&').filter(|pair| !is_ours(pair)).collect();
    format!("?{}", rest.join("&"))
}

/// Adds a cookie that keeps this language to the response.
pub(in crate::http::connect) fn with_language(
    service: &Service,
    response: Response,
    texts: &'static Texts,
    framed: bool,
) -> Response {
    with_cookie(response, cookie::set(service, COOKIE, texts.lang, framed))
}

/// Returns the known language with the highest quality value in `Accept-Language` (RFC 9110, section 12.5.4). Among
/// equals the first wins. Returns English if none is known.
fn accepted_among(languages: &Languages, accepted: &str) -> &'static Texts {
    let mut best: Option<(f32, &'static Texts)> = None;
    for range in accepted.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let tag = parts.next().unwrap_or_default();
        let quality = parts
            .find_map(|part| part.strip_prefix("q="))
            .map_or(Ok(1.0), str::parse);
        let quality = quality.unwrap_or(0.0);
        if let Some(texts) = languages.find(tag)
            && quality > 0.0
            && best.is_none_or(|(known, _)| quality > known)
        {
            best = Some((quality, texts));
        }
    }
    best.map_or(languages.all()[0], |(_, texts)| texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_query_but_not_the_language_that_a_link_named() {
        assert_eq!(here("a=1&language=es&b=%26&language"), "?a=1&b=%26");
        assert_eq!(here("language=es"), "?");
        assert_eq!(here("ui_locales=en&languages=x"), "?ui_locales=en&languages=x");
    }

    #[test]
    fn the_best_liked_language_is_spoken_and_english_else() {
        let languages = Languages::default();
        for (accepted, lang) in [
            ("", "en"),
            ("de-CH, fr;q=0.9", "en"),
            ("*", "en"),
            ("en;q=x, ;;,", "en"),
            ("es-MX, en;q=0.8", "es"),
            ("en;q=0.8, ES;q=0.9", "es"),
            ("es;q=0", "en"),
            ("fr, es;q=0.1", "es"),
        ] {
            assert_eq!(accepted_among(&languages, accepted).lang, lang, "{accepted}");
        }
    }
}
