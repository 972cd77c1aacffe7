//! Reads a text file line by line.

use std::borrow::Cow;
use std::io::BufRead;

use super::error::PublishedError;

/// The maximum length of a line in bytes.
const MAX_LINE: u64 = 16 << 20;

/// The nonempty lines of a file, without line ends and without a byte order mark.
pub(crate) struct Lines<'r> {
    reader: &'r mut dyn BufRead,
    name: &'r str,
    number: u64,
    buffer: Vec<u8>,
    text: String,
}

impl<'r> Lines<'r> {
    pub(crate) fn new(reader: &'r mut dyn BufRead, name: &'r str) -> Lines<'r> {
        Lines {
            reader,
            name,
            number: 0,
            buffer: Vec::new(),
            text: String::new(),
        }
    }

    /// Goes to the next nonempty line. Returns false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, PublishedError> {
        loop {
            self.buffer.clear();
            let mut bounded = std::io::Read::take(&mut *self.reader, MAX_LINE);
            let read = bounded.read_until(b'\n', &mut self.buffer);
            let read = read.map_err(|source| PublishedError::Unreadable {
                path: self.name.into(),
                source,
            })?;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            if read as u64 == MAX_LINE {
                return Err(self.fail("a line of less than 16 MiB"));
            }
            let line = trim_end(&self.buffer);
            let line = match self.number {
                1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
                _ => line,
            };
            if !line.iter().all(u8::is_ascii_whitespace) {
                self.text.clear();
                self.text.push_str(&decode(line));
                return Ok(true);
            }
        }
    }

    /// Returns the current line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns an error for the current line. `expected` says what the line should have.
    pub(crate) fn fail(&self, expected: &str) -> PublishedError {
        PublishedError::Line {
            name: self.name.to_string(),
            line: self.number,
            expected: expected.to_string(),
        }
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Decodes UTF-8. If any of the bytes are not UTF-8, decodes all bytes as Windows-1252.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    // The characters of the bytes 0x80 to 0x9F in Windows-1252. Five of these bytes have no character and become
    // U+FFFD.
    const HIGH: [char; 32] = [
        '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž', '\u{fffd}',
        '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}', 'ž', 'Ÿ',
    ];
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(
            bytes
                .iter()
                .map(|byte| match byte {
                    0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
                    byte => char::from(*byte),
                })
                .collect(),
        ),
    }
}

/// Returns the characters from column `start` up to, but not including, column `end`, without surrounding spaces.
/// Columns are counted from 0. Columns after the end of the line are empty.
pub(crate) fn columns(line: &str, start: usize, end: usize) -> &str {
    if line.is_ascii() {
        return line
            .get(start.min(line.len())..end.min(line.len()))
            .unwrap_or_default()
            .trim();
    }
    let at = |column: usize| line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    line[at(start)..at(end)].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_text_than_utf8_is_windows_1252() {
        assert_eq!(decode("Ménière".as_bytes()), "Ménière");
        assert_eq!(decode(b"M\xe9ni\xe8re \x96 x"), "Ménière – x");
        assert_eq!(columns("abcdef", 1, 3), "bc");
        assert_eq!(columns("äbc def", 1, 3), "bc");
        assert_eq!(columns("ab", 5, 9), "");
    }
}
