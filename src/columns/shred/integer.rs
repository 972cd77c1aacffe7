//! Parses JSON numbers as R4 integers.

/// Parses an R4 integer: an optional minus and digits, within 32 bits. `None` for `-0` and for any other number.
/// `text` is a JSON number, so it has no plus and no leading zero.
pub(super) fn integer(text: &str) -> Option<i32> {
    if text == "-0" { None } else { text.parse().ok() }
}
