//! Checks of strings that operators write into the directory.

use url::Url;

use super::super::error::Error;
use crate::fhir::hidden::is_hidden;

/// The maximum length of a name or label in characters, and the end of the error message for a longer string.
pub(super) const LONGEST: (usize, &str) = (200, "is longer than 200 letters");

/// Checks a required string of at most 200 characters on one line. `what` is the beginning of the error message.
pub(super) fn checked(what: &str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::Invalid {
            what: what.to_owned(),
            problem: "is empty",
        });
    }
    checked_line(what, text, LONGEST)
}

/// Checks a string that may be empty: at most `longest` characters on one line. `what` is the beginning of the error
/// message, and `long` is its end if the string is longer.
pub(super) fn checked_line(what: &str, text: &str, (longest, long): (usize, &'static str)) -> Result<(), Error> {
    let problem = match text {
        text if text.chars().count() > longest => long,
        text if text.chars().any(is_hidden) => "has control characters or invisible ones",
        _ => return Ok(()),
    };
    Err(Error::Invalid {
        what: what.to_owned(),
        problem,
    })
}

/// Checks an `http` or `https` address without user name, query and fragment. Returns it without trailing slashes.
pub(super) fn checked_base(text: &str) -> Result<&str, Error> {
    let sound = Url::parse(text).is_ok_and(|url| {
        let is_bare = url.query().is_none() && url.fragment().is_none();
        let plain = is_bare && url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && url.host().is_some() && plain
    });
    if sound && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text.trim_end_matches('/'));
    }
    Err(Error::Invalid {
        what: format!("the address {text:?}"),
        problem: "is no http or https address without query and fragment",
    })
}
