//! Reads and checks the request for a new link.

use serde_json::{Map, Value};

use crate::consent::LinkContent;
use crate::fhir::hidden::is_hidden;
use crate::http::error::Error;

/// The maximum length of a label: 80 characters, as the specification requires.
pub(super) const LONGEST_LABEL: usize = 80;
/// The minimum number of characters of a passcode.
pub(super) const SHORTEST_PASSCODE: usize = 4;
/// The maximum number of characters of a passcode.
pub(super) const LONGEST_PASSCODE: usize = 128;
/// The default lifetime of a link in seconds: 30 days.
pub(super) const USUAL_TIME: i64 = 30 * 86_400;
/// The maximum lifetime of a link in seconds: a year.
pub(super) const LONGEST_TIME: i64 = 365 * 86_400;

const MEMBERS: [&str; 5] = ["content", "label", "passcode", "exp", "flag"];

/// The link that a patient requests.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) content: LinkContent,
    pub(super) label: Option<String>,
    pub(super) passcode: Option<String>,
    pub(super) is_direct: bool,
    /// When the link expires, in seconds since the Unix epoch.
    pub(super) expires_at: i64,
}

impl Asked {
    /// Reads a request's body. An empty body requests a link with all defaults.
    pub(super) fn read(body: &[u8], now: i64) -> Result<Asked, Error> {
        let invalid = |problem: &str| Error::Invalid(problem.to_owned());
        let body: Map<String, Value> = if body.iter().all(u8::is_ascii_whitespace) {
            Map::new()
        } else {
            serde_json::from_slice(body).map_err(|_| invalid("the body is no JSON object"))?
        };
        if let Some(name) = body.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let name: String = name.chars().take(40).collect();
            return Err(Error::Invalid(format!(
                "there is no member {name:?}; there are {}",
                MEMBERS.join(", ")
            )));
        }
        let content = match text(&body, "content")? {
            None => LinkContent::Summary,
            Some(name) => LinkContent::named(&name).ok_or_else(|| {
                let names: Vec<&str> = LinkContent::ALL.iter().map(|content| content.name()).collect();
                Error::Invalid(format!("content must be one of {}", names.join(", ")))
            })?,
        };
        // A label loses its hidden characters: it could look like another one, or turn the text around it.
        let label = text(&body, "label")?.map(|label| {
            let kept: String = label.chars().filter(|c| c.is_control() || !is_hidden(*c)).collect();
            kept.trim().to_owned()
        });
        let label = label.filter(|label| !label.is_empty());
        // Count UTF-16 code units, because the programs of recipients count these.
        if label
            .as_ref()
            .is_some_and(|label| label.encode_utf16().count() > LONGEST_LABEL)
        {
            return Err(Error::Invalid(format!("label is longer than {LONGEST_LABEL} letters")));
        }
        if label.as_ref().is_some_and(|label| label.contains(char::is_control)) {
            return Err(invalid("label has control characters"));
        }
        let passcode = text(&body, "passcode")?;
        let length = passcode.as_ref().map(|passcode| passcode.chars().count());
        if length.is_some_and(|length| !(SHORTEST_PASSCODE..=LONGEST_PASSCODE).contains(&length)) {
            let problem = format!("passcode must have {SHORTEST_PASSCODE} to {LONGEST_PASSCODE} letters");
            return Err(Error::Invalid(problem));
        }
        let is_direct = flags(text(&body, "flag")?.as_deref(), passcode.is_some())?;
        Ok(Asked {
            content,
            label,
            passcode,
            is_direct,
            expires_at: end(body.get("exp"), now)?,
        })
    }
}

fn text(body: &Map<String, Value>, name: &str) -> Result<Option<String>, Error> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Error::Invalid(format!("{name} must be a string"))),
    }
}

/// Returns `true` for flag `U`: GET of the link's URL returns the file itself, and there is no manifest. An error if a
/// flag is unknown, or if the flag and the passcode do not fit together.
fn flags(flag: Option<&str>, has_passcode: bool) -> Result<bool, Error> {
    let invalid = |problem: &str| Err(Error::Invalid(problem.to_owned()));
    match (flag.unwrap_or(""), has_passcode) {
        ("", _) | ("P", true) => Ok(false),
        ("U", false) => Ok(true),
        ("U" | "PU", true) | ("PU", false) => {
            invalid("flag U does not go with a passcode: the file is behind one request")
        }
        ("P", false) => invalid("flag P needs a passcode"),
        (flag, _) if flag.contains('L') => invalid(
            "flag L is not offered: the key of a link is not kept, so its file cannot be made anew; make another link",
        ),
        _ => invalid("flag must be P, U or empty"),
    }
}

/// Reads `exp`, in seconds since the Unix epoch. Without it, the link expires 30 days from now. A time later than a
/// year from now becomes a year from now. A time that has passed is an error.
fn end(exp: Option<&Value>, now: i64) -> Result<i64, Error> {
    let longest = now.saturating_add(LONGEST_TIME);
    match exp {
        None | Some(Value::Null) => Ok(now.saturating_add(USUAL_TIME)),
        Some(value) => match value.as_i64() {
            Some(exp) if exp > now => Ok(exp.min(longest)),
            Some(_) => Err(Error::Invalid("exp has passed".to_owned())),
            None => Err(Error::Invalid(
                "exp must be a whole number of seconds since 1970".to_owned(),
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn read(body: &str) -> Result<Asked, String> {
        Asked::read(body.as_bytes(), NOW).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_a_link_to_the_summary_for_a_month() {
        for body in [
            "",
            " ",
            "{}",
            r#"{"content": null, "flag": ""}"#,
            r#"{"content": "summary", "label": " "}"#,
        ] {
            let asked = read(body).unwrap();
            assert_eq!(
                (asked.content, asked.is_direct),
                (LinkContent::Summary, false),
                "{body}"
            );
            assert_eq!((asked.label, asked.passcode), (None, None), "{body}");
            assert_eq!(asked.expires_at, NOW + USUAL_TIME);
        }
    }

    #[test]
    fn flags_go_with_what_they_mean() {
        assert!(read(r#"{"flag": "U"}"#).unwrap().is_direct);
        assert!(!read(r#"{"flag": "P", "passcode": "2468"}"#).unwrap().is_direct);
        assert_eq!(
            read(r#"{"passcode": "2468"}"#).unwrap().passcode.as_deref(),
            Some("2468")
        );
        for (body, expected) in [
            (r#"{"flag": "P"}"#, "flag P needs a passcode"),
            (r#"{"flag": "U", "passcode": "2468"}"#, "does not go with a passcode"),
            (r#"{"flag": "PU", "passcode": "2468"}"#, "does not go with a passcode"),
            (r#"{"flag": "L"}"#, "flag L is not offered"),
            (r#"{"flag": "LP", "passcode": "2468"}"#, "flag L is not offered"),
            (r#"{"flag": "X"}"#, "flag must be P, U or empty"),
        ] {
            let problem = read(body).unwrap_err();
            assert!(problem.contains(expected), "{body}: {problem}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (body, name) in [
            ("[]", "JSON object"),
            ("{", "JSON object"),
            (r#"{"colour": "red"}"#, "colour"),
            (r#"{"content": "everything"}"#, "content"),
            (r#"{"label": 1}"#, "label"),
            (&format!(r#"{{"label": "{}"}}"#, "x".repeat(81)), "label"),
            (r#"{"label": "a\u0000b"}"#, "label"),
            (r#"{"passcode": ""}"#, "passcode"),
            (r#"{"passcode": "123"}"#, "passcode"),
            (r#"{"passcode": 1234}"#, "passcode"),
            (r#"{"exp": "tomorrow"}"#, "exp"),
            (r#"{"exp": 1.5}"#, "exp"),
            (r#"{"exp": 1800000000}"#, "exp"),
        ] {
            let problem = read(body).unwrap_err();
            assert!(problem.contains(name), "{body}: {problem}");
        }
    }

    #[test]
    fn no_link_outlasts_a_year() {
        let asked = read(&format!(r#"{{"exp": {}}}"#, i64::MAX)).unwrap();
        assert_eq!(asked.expires_at, NOW + LONGEST_TIME);
        let label = "ü".repeat(LONGEST_LABEL);
        assert_eq!(read(&format!(r#"{{"label": "{label}"}}"#)).unwrap().label, Some(label));
    }
}
