//! Splits parameter values at unescaped separators, and removes the escapes `\,` `\|` `\$` `\\` (R4 search, "Escaping
//! Search Parameters").

/// Splits a value at every separator that is not escaped. The parts keep their escapes.
pub(crate) fn split(value: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in value.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == separator {
            parts.push(&value[start..at]);
            start = at + c.len_utf8();
        }
    }
    parts.push(&value[start..]);
    parts
}

/// Removes the escapes: a backslash and the character after it become that character.
pub(crate) fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    out
}

/// Whether each backslash precedes a character that must be escaped.
pub(crate) fn is_legal(value: &str) -> bool {
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && !matches!(chars.next(), Some(',' | '|' | '$' | '\\')) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_can_be_escaped() {
        assert_eq!(split(r"a\,b,c", ','), [r"a\,b", "c"]);
        assert_eq!(unescape(r"a\,b\\"), r"a,b\");
        assert_eq!(split("", ','), [""]);
        assert!(is_legal(r"a\,b\\ \$ \|") && is_legal(""));
        assert!(!is_legal(r"a\b") && !is_legal(r"a\") && !is_legal(r"\\\"));
    }
}
