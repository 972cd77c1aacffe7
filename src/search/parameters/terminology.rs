//! Resolves `:in`, `:not-in`, `:below` and `:above` of a token with the loaded code systems and value sets.

use super::super::SearchError;
use super::super::criteria::matcher::codes::CodesTest;
use super::raw::{RawParameter, written};
use super::result::{invalid, shortened};
use super::values::{TokenValue, escape};
use crate::terminology::Terminology;

/// Returns the test for one alternative of a value. It is an error if the value set or code system is unknown, or if
/// the value set needs another one that is unknown.
pub(in crate::search) fn test(
    raw: &RawParameter,
    text: &str,
    terminology: &Terminology,
) -> Result<CodesTest, SearchError> {
    let unknown = |what: &'static str, canonical: &str| SearchError::Terminology {
        parameter: shortened(&written(raw)),
        what,
        canonical: shortened(canonical),
    };
    let modifier = raw.modifier.as_deref().unwrap_or_default();
    if matches!(modifier, "in" | "not-in") {
        let canonical = escape::unescape(text);
        let set = terminology.value_set(&canonical);
        let set = set.ok_or_else(|| unknown("value set", &canonical))?;
        return match set.lacking() {
            Some(lacking) => Err(unknown(lacking.what, &lacking.canonical)),
            None => Ok(CodesTest::In(set)),
        };
    }
    let expected = "a code, with its system where it has one: system|code";
    let Some(TokenValue {
        system,
        code: Some(code),
    }) = TokenValue::parse(text)
    else {
        return Err(invalid(&written(raw), text, expected));
    };
    let systems = match system.as_deref() {
        Some("") => return Err(invalid(&written(raw), text, expected)),
        Some(system) => vec![
            terminology
                .code_system(system)
                .ok_or_else(|| unknown("code system", system))?,
        ],
        None => terminology.systems_with(&code),
    };
    if systems.is_empty() {
        return Err(unknown("code system of", &code));
    }
    Ok(CodesTest::Of {
        systems,
        code,
        above: modifier == "above",
    })
}
