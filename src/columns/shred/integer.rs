//! Integers of JSON as the columns hold them.

/// R4's integers: an optional minus and digits without a leading zero, within 32 bits.
pub(super) fn integer(text: &str) -> Option<i32> {
    if text == "-0" { None } else { text.parse().ok() }
}
