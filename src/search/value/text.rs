//! String values: compared without regard to case and combining marks (R4 search, 3.1.1.4.8), unless exactly.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The form in which strings are compared: lower case, without combining marks.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_marks_do_not_count() {
        assert_eq!(fold("Ordóñez"), "ordonez");
        assert_eq!(fold("JÜRGEN"), fold("jurgen"));
        assert_eq!(fold("abc"), "abc");
    }
}
