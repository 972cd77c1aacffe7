//! The parameters that shape an answer and select no rows, such as `_count`, `_offset`, `_total` and `_summary`.

use super::super::SearchError;
use crate::fhir::outcome::{Issue, IssueType};

/// The page size without `_count`.
pub const DEFAULT_COUNT: usize = 20;
/// The maximum page size. A larger `_count` is reduced to it.
pub const MAX_COUNT: usize = 1000;
/// The maximum length of a name or value in an error message, in characters. A longer one is cut off.
const LONGEST_SHOWN: usize = 200;

/// Whether the answer states the number of matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) enum Total {
    /// The answer does not state the number.
    #[default]
    None,
    /// The answer states the exact number. The answer to `_total=estimate` states it, too, because counting is cheap.
    Accurate,
}

impl Total {
    /// Parses the value of `_total`.
    pub(in crate::search) fn parse(value: &str) -> Result<Total, SearchError> {
        match value {
            "none" => Ok(Total::None),
            "accurate" | "estimate" => Ok(Total::Accurate),
            _ => Err(invalid("_total", value, "one of none, accurate, estimate")),
        }
    }
}

/// How much of each resource the answer has (R4 search, 3.1.1.5.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) enum Summary {
    /// The whole resource.
    #[default]
    False,
    /// Only the elements that R4 marks as summary elements, and the mandatory and modifier elements.
    True,
    /// `text`, `id`, `meta` and the mandatory top-level elements.
    Text,
    /// All elements except `text`.
    Data,
    /// No resources, only their number.
    Count,
}

impl Summary {
    /// Parses the value of `_summary`.
    pub(in crate::search) fn parse(value: &str) -> Result<Summary, SearchError> {
        match value {
            "false" => Ok(Summary::False),
            "true" => Ok(Summary::True),
            "text" => Ok(Summary::Text),
            "data" => Ok(Summary::Data),
            "count" => Ok(Summary::Count),
            _ => Err(invalid("_summary", value, "one of true, text, data, count, false")),
        }
    }
}

/// Parses the value of `_count`. A value above [`MAX_COUNT`] is reduced to it. Then the result also has a remark for
/// the answer.
pub(in crate::search) fn count(value: &str) -> Result<(usize, Option<Issue>), SearchError> {
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid("_count", value, "a whole number"));
    }
    match value.parse::<usize>() {
        Ok(count) if count <= MAX_COUNT => Ok((count, None)),
        // A number that is too large to parse is also larger than the maximum.
        _ => {
            let text = format!("_count: a page holds at most {MAX_COUNT} matches; this one is of that size");
            Ok((
                MAX_COUNT,
                Some(Issue::warning(IssueType::TooCostly, text).expression("_count")),
            ))
        }
    }
}

/// Parses the value of `_offset`.
pub(in crate::search) fn offset(value: &str) -> Result<usize, SearchError> {
    match value.parse::<u32>() {
        // Rust's parser accepts a plus sign, but only digits are allowed here.
        Ok(offset) if !value.starts_with('+') => Ok(offset as usize),
        _ => Err(invalid("_offset", value, "a whole number below 4294967296")),
    }
}

pub(in crate::search) fn invalid(parameter: &str, value: &str, expected: &'static str) -> SearchError {
    invalid_name(parameter, value, expected, String::new())
}

/// Returns the error for a value that is a name, with a suggestion of a known name. The suggestion is the end of the
/// message.
pub(in crate::search) fn invalid_name(
    parameter: &str,
    value: &str,
    expected: &'static str,
    meant: String,
) -> SearchError {
    SearchError::Value {
        parameter: shortened(parameter),
        value: shortened(value),
        expected,
        meant,
    }
}

/// Returns a name or value, shortened for messages, because a POST may contain a value of megabytes.
pub(crate) fn shortened(value: &str) -> String {
    match value.char_indices().nth(LONGEST_SHOWN) {
        None => value.to_owned(),
        Some((end, _)) => format!("{}...", &value[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_repeats_the_beginning_of_a_long_value() {
        let error = |value: &str| invalid("_filter", value, "a filter").to_string();
        let longest = "é".repeat(LONGEST_SHOWN);
        assert_eq!(error(&longest), format!("_filter: '{longest}' is not a filter"));
        assert_eq!(
            error(&format!("{longest}é")),
            format!("_filter: '{longest}...' is not a filter")
        );
    }

    #[test]
    fn counts_are_bounded() {
        for (text, counted) in [("0", 0), ("007", 7), ("1000", MAX_COUNT)] {
            assert_eq!(count(text).unwrap(), (counted, None));
        }
        for text in ["1001", "99999999999999999999999"] {
            let (counted, said) = count(text).unwrap();
            assert_eq!((counted, said.is_some()), (MAX_COUNT, true));
        }
        for text in ["-1", "+1", "", "1.0", "many", " 1"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert!(offset("x").is_err());
    }
}
