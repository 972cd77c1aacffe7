//! Reads the byte range that a `Range` header requests (RFC 9110, section 14). For several ranges or an invalid one,
//! the whole response is sent, as the standard permits.

use std::ops::Range;

/// The requested range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Asked {
    Whole,
    /// A part of at least one byte.
    Part(Range<u64>),
    /// The body has no byte in the requested range.
    Nothing,
}

/// Reads the header's value, for a body of `length` bytes.
pub(in crate::http) fn asked(text: &str, length: u64) -> Asked {
    let Some((unit, ranges)) = text.split_once('=') else {
        return Asked::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Asked::Whole;
    }
    let Some((first, last)) = ranges.trim().split_once('-') else {
        return Asked::Whole;
    };
    let (first, last) = (first.trim(), last.trim());
    let number = |text: &str| {
        if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            // A number that does not fit into 64 bits is larger than any length.
            Some(text.parse().unwrap_or(u64::MAX))
        } else {
            None
        }
    };
    match (first, number(first), last, number(last)) {
        // `-500` requests the last 500 bytes.
        ("", _, _, Some(0)) => Asked::Nothing,
        ("", _, _, Some(_)) if length == 0 => Asked::Nothing,
        ("", _, _, Some(count)) => Asked::Part(length.saturating_sub(count)..length),
        (_, Some(first), "", _) if first < length => Asked::Part(first..length),
        (_, Some(first), _, Some(last)) if first > last => Asked::Whole,
        (_, Some(first), _, Some(last)) if first < length => Asked::Part(first..last.saturating_add(1).min(length)),
        (_, Some(_), "", _) | (_, Some(_), _, Some(_)) => Asked::Nothing,
        _ => Asked::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_of_bytes_is_a_part() {
        for (text, expected) in [
            ("bytes=0-0", Asked::Part(0..1)),
            ("bytes=2-4", Asked::Part(2..5)),
            ("Bytes = 2-4", Asked::Part(2..5)),
            ("bytes=2-", Asked::Part(2..10)),
            ("bytes=2-99999999999999999999999", Asked::Part(2..10)),
            ("bytes=-3", Asked::Part(7..10)),
            ("bytes=-30", Asked::Part(0..10)),
            ("bytes=10-", Asked::Nothing),
            ("bytes=10-12", Asked::Nothing),
            ("bytes=99999999999999999999999-", Asked::Nothing),
            ("bytes=-0", Asked::Nothing),
            ("bytes=4-2", Asked::Whole),
            ("bytes=0-1,4-5", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes=-", Asked::Whole),
            ("bytes=", Asked::Whole),
            ("lines=0-1", Asked::Whole),
            ("0-1", Asked::Whole),
            ("bytes=+1-2", Asked::Whole),
        ] {
            assert_eq!(asked(text, 10), expected, "{text}");
        }
        assert_eq!(asked("bytes=0-", 0), Asked::Nothing);
        assert_eq!(asked("bytes=-1", 0), Asked::Nothing);
    }
}
