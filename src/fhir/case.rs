//! Compares texts without regard to case, in all scripts.

use std::borrow::Cow;

/// Returns the case-folded letters of a character: `s` `s` for `ß` and `ẞ`, `σ` for the final sigma.
pub fn folded(c: char) -> impl Iterator<Item = char> {
    // Lower case comes first, because the upper case of `ẞ` is `ẞ` itself. Then upper case merges letters that
    // lower case distinguishes, such as the two forms of sigma.
    c.to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

/// Returns the case-folded text. Two texts are equal without regard to case if their case-folded texts are equal.
pub fn fold_case(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(text.chars().flat_map(folded).collect());
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether two texts are equal without regard to case.
pub fn same_but_for_case(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    one.chars().flat_map(folded).eq(other.chars().flat_map(folded))
}

/// Whether a text and the bytes of another text are equal without regard to case. Invalid UTF-8 equals no text.
pub fn bytes_same_but_for_case(one: &str, other: &[u8]) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.as_bytes().eq_ignore_ascii_case(other);
    }
    std::str::from_utf8(other).is_ok_and(|other| same_but_for_case(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_count_in_any_script() {
        for (one, other) in [
            ("STRASSE", "Straße"),
            ("STRAẞE", "strasse"),
            ("ΟΔΥΣΣΕΥΣ", "Οδυσσευς"),
            ("ÄRZTE", "ärzte"),
            ("ДОМ", "дом"),
            ("abc", "ABC"),
        ] {
            assert!(same_but_for_case(one, other), "{one} {other}");
            assert!(bytes_same_but_for_case(one, other.as_bytes()), "{one} {other}");
            assert_eq!(fold_case(one), fold_case(other));
        }
        assert!(!same_but_for_case("é", "e") && !same_but_for_case("a", "ab"));
        assert!(!bytes_same_but_for_case("a", b"\xff"));
    }

    #[test]
    fn folding_again_changes_nothing() {
        for c in (0..=0x0010_ffff).filter_map(char::from_u32) {
            let folded = fold_case(c.encode_utf8(&mut [0; 4])).into_owned();
            assert_eq!(fold_case(&folded), folded, "{c:?}");
            let upper: String = c.to_uppercase().collect();
            assert_eq!(fold_case(&upper), folded, "{c:?}");
        }
    }
}
