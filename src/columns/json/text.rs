//! Functions on JSON strings: they find the end of a string, check its escapes, and replace the escapes by characters.

use super::error::{JsonError, Reason};

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Returns the first position from `at` on with a quote, a backslash or a control character. Returns the text's length
/// if there is none.
///
/// Tests eight bytes at a time. The subtractions set the high bit of each byte that is a quote or a backslash (zero
/// after the XOR) or is below 32. Such a byte borrows from the next higher byte, so the high bit of a byte above it may
/// be set by mistake. The lowest set bit is always correct, and only this bit is used.
#[inline(always)]
pub(super) fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * 0x22);
        let slash = word ^ (ONES * 0x5c);
        let marks = (quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let marks = marks & HIGHS;
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = text.get(at) {
        if *byte == b'"' || *byte == b'\\' || *byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

/// Checks the escapes of a string whose text between the quotes is `start..end`.
#[cold]
pub(super) fn check_escapes(text: &[u8], start: usize, end: usize) -> Result<(), JsonError> {
    let mut at = start;
    while let Some(found) = memchr::memchr(b'\\', &text[at..end]) {
        at += found;
        match unescape_one(&text[at..end]) {
            Ok((_, length)) => at += length,
            Err(reason) => return Err(JsonError { offset: at, reason }),
        }
    }
    Ok(())
}

/// Returns the text of a string, with its escapes replaced. `text` is the part between the quotes. The parser has
/// checked its escapes.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let Ok((character, length)) = unescape_one(&rest.as_bytes()[at..]) else {
            break;
        };
        out.push(character);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

/// Returns the character of the escape at the start of `bytes`, and the length of the escape in bytes.
fn unescape_one(bytes: &[u8]) -> Result<(char, usize), Reason> {
    let simple = match bytes.get(1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unescape_unicode(bytes),
        _ => return Err(Reason::Escape),
    };
    Ok((simple, 2))
}

fn unescape_unicode(bytes: &[u8]) -> Result<(char, usize), Reason> {
    let first = hex(bytes)?;
    if let Some(character) = char::from_u32(first) {
        return Ok((character, 6));
    }
    let second = if bytes.get(6..8) == Some(b"\\u") {
        hex(&bytes[6..])?
    } else {
        0
    };
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return Err(Reason::Surrogate);
    }
    let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    char::from_u32(code)
        .map(|character| (character, 12))
        .ok_or(Reason::Surrogate)
}

/// Returns the value of the four hexadecimal digits after the `\u` at the start of `bytes`.
fn hex(bytes: &[u8]) -> Result<u32, Reason> {
    let digits = bytes.get(2..6).ok_or(Reason::Escape)?;
    digits.iter().try_fold(0, |code, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(Reason::Escape)?;
        Ok(code * 16 + digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_mark_wherever_it_stands() {
        for length in 0..40 {
            for mark in [b'"', b'\\', 0x00, 0x1f] {
                let mut text = "é ~!#[]\u{7f}".repeat(6).into_bytes();
                text.truncate(length);
                text.push(mark);
                text.extend_from_slice(b"\"\x01 trailing");
                assert_eq!(string_end(&text, 0), length, "{mark} behind {length}");
            }
            assert_eq!(string_end(&b" ".repeat(length), 0), length);
        }
    }

    #[test]
    fn unescapes() {
        assert_eq!(
            unescape(r#"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00z"#),
            "a\"\\/\u{8}\u{c}\n\r\té\u{1f600}z"
        );
    }
}
