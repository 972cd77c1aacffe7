//! Reads the tokens of a JSON text: punctuation, property names and scalars.

use super::error::{JsonError, Reason};
use super::text::{check_escapes, string_end};
use super::value::Kind;

/// A JSON text and a position in it.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    /// The number of white space bytes before the position, not counting those in strings.
    pub(super) spaces: u32,
}

/// The position of a property's name in the text, quotes included.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'t> Cursor<'t> {
    /// Returns a cursor at the start of the text, after a byte order mark if there is one.
    pub(super) fn new(text: &'t [u8]) -> Cursor<'t> {
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Cursor { text, at, spaces: 0 }
    }

    /// Checks that only white space follows.
    pub(super) fn end(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        if self.at < self.text.len() {
            self.fail(Reason::Trailing)
        } else {
            Ok(())
        }
    }

    /// Skips white space and returns the next byte. The position stays on this byte.
    #[inline(always)]
    pub(super) fn token(&mut self) -> Result<u8, JsonError> {
        match self.text.get(self.at) {
            Some(byte) if *byte > b' ' => Ok(*byte),
            _ => {
                self.skip_space();
                match self.text.get(self.at) {
                    Some(byte) => Ok(*byte),
                    None => self.fail(Reason::Incomplete),
                }
            }
        }
    }

    fn skip_space(&mut self) {
        let start = self.at;
        loop {
            // Indentation is often long, so skip eight blanks at once.
            if let Some(chunk) = self.text.get(self.at..).and_then(|rest| rest.first_chunk::<8>())
                && u64::from_le_bytes(*chunk) == u64::from_le_bytes([b' '; 8])
            {
                self.at += 8;
                continue;
            }
            match self.text.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                _ => break,
            }
        }
        self.spaces += (self.at - start) as u32;
    }

    /// Reads a property's name and the colon after it. `byte` is the byte at the position.
    #[inline]
    pub(super) fn key(&mut self, byte: u8) -> Result<Name, JsonError> {
        if byte != b'"' {
            return self.fail(Reason::ExpectedKey);
        }
        let start = self.at;
        let kind = self.string()?;
        let end = self.at;
        if self.token()? != b':' {
            return self.fail(Reason::ExpectedColon);
        }
        self.at += 1;
        Ok(Name { kind, start, end })
    }

    /// Reads a value that is neither an array nor an object. `byte` is the byte at the position.
    #[inline]
    pub(super) fn scalar(&mut self, byte: u8) -> Result<Kind, JsonError> {
        match byte {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true", Kind::True),
            b'f' => self.word(b"false", Kind::False),
            b'n' => self.word(b"null", Kind::Null),
            _ => self.fail(Reason::ExpectedValue),
        }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Result<Kind, JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return self.fail(Reason::ExpectedValue);
        }
        self.at += word.len();
        Ok(kind)
    }

    #[inline]
    fn string(&mut self) -> Result<Kind, JsonError> {
        let start = self.at + 1;
        let mut end = string_end(self.text, start);
        let mut kind = Kind::String;
        while self.text.get(end) == Some(&b'\\') {
            kind = Kind::Escaped;
            end = string_end(self.text, end.saturating_add(2).min(self.text.len()));
        }
        match self.text.get(end) {
            Some(b'"') => {}
            Some(_) => {
                return Err(JsonError {
                    offset: end,
                    reason: Reason::Control,
                });
            }
            None => {
                return Err(JsonError {
                    offset: self.text.len(),
                    reason: Reason::Incomplete,
                });
            }
        }
        if kind == Kind::Escaped {
            check_escapes(self.text, start, end)?;
        }
        self.at = end + 1;
        Ok(kind)
    }

    /// Reads a number: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    fn number(&mut self) -> Result<Kind, JsonError> {
        let text = self.text;
        let digits = |mut at: usize| {
            while text.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let whole = if text[self.at] == b'-' { self.at + 1 } else { self.at };
        let mut end = digits(whole);
        if end == whole || (text[whole] == b'0' && end > whole + 1) {
            return self.fail(Reason::Number);
        }
        if text.get(end) == Some(&b'.') {
            let fraction = end + 1;
            end = digits(fraction);
            if end == fraction {
                return self.fail(Reason::Number);
            }
        }
        if let Some(b'e' | b'E') = text.get(end) {
            let exponent = if let Some(b'+' | b'-') = text.get(end + 1) {
                end + 2
            } else {
                end + 1
            };
            end = digits(exponent);
            if end == exponent {
                return self.fail(Reason::Number);
            }
        }
        self.at = end;
        Ok(Kind::Number)
    }

    #[cold]
    pub(super) fn fail<T>(&self, reason: Reason) -> Result<T, JsonError> {
        Err(JsonError {
            offset: self.at,
            reason,
        })
    }
}
