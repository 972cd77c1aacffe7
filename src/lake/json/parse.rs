//! The one pass from text to tape.

use super::text::{check_escapes, string_end};
use super::value::{Kind, Node, Value};

/// The deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 100;

/// A text that is not JSON, or JSON beyond what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct JsonError {
    /// Where in the text, in bytes from its start.
    pub offset: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// What can be wrong with a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Reason {
    #[error("invalid UTF-8")]
    Utf8,
    #[error("the text ends too early")]
    Incomplete,
    #[error("expected a value")]
    ExpectedValue,
    #[error("expected a property name in double quotes")]
    ExpectedKey,
    #[error("expected ':' after the property name")]
    ExpectedColon,
    #[error("expected ',' or the end of the object")]
    ExpectedCommaOrBrace,
    #[error("expected ',' or the end of the array")]
    ExpectedCommaOrBracket,
    #[error("a number that JSON does not allow")]
    Number,
    #[error("an escape that JSON does not allow")]
    Escape,
    #[error("half of an escaped surrogate pair")]
    Surrogate,
    #[error("a control character inside a string")]
    Control,
    #[error("something after the end of the value")]
    Trailing,
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("a text of 4 GiB or more")]
    TooLarge,
}

/// The nodes of one JSON text; kept from one text to the next for its memory.
#[derive(Debug, Default)]
pub struct Tape {
    nodes: Vec<Node>,
}

impl Tape {
    /// An empty tape.
    pub fn new() -> Tape {
        Tape::default()
    }

    /// Checks the whole of `text` and gives its value. The nodes of the text before are dropped.
    pub fn parse<'t>(&'t mut self, text: &'t [u8]) -> Result<Value<'t>, JsonError> {
        self.nodes.clear();
        if text.len() >= u32::MAX as usize {
            return Err(JsonError {
                offset: 0,
                reason: Reason::TooLarge,
            });
        }
        let checked = match simdutf8::basic::from_utf8(text) {
            Ok(checked) => checked,
            Err(_) => {
                let offset = simdutf8::compat::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
                return Err(JsonError {
                    offset,
                    reason: Reason::Utf8,
                });
            }
        };
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut parser = Parser {
            text,
            at,
            spaces: 0,
            nodes: &mut self.nodes,
            open: [Open::default(); MAX_DEPTH],
        };
        parser.document()?;
        Ok(Value::new(checked, &self.nodes, 0))
    }
}

/// An array or object whose end has not been met.
#[derive(Clone, Copy, Default)]
struct Open {
    node: u32,
    /// White space met before it: equal at its end where there is none inside.
    spaces: u32,
    object: bool,
}

struct Parser<'p> {
    text: &'p [u8],
    at: usize,
    spaces: u32,
    nodes: &'p mut Vec<Node>,
    open: [Open; MAX_DEPTH],
}

impl Parser<'_> {
    fn document(&mut self) -> Result<(), JsonError> {
        let mut depth = 0;
        loop {
            // At a place where a value must stand.
            let byte = self.token()?;
            if byte == b'{' || byte == b'[' {
                if depth == MAX_DEPTH {
                    return self.fail(Reason::TooDeep);
                }
                let object = byte == b'{';
                self.open[depth] = Open {
                    node: self.nodes.len() as u32,
                    spaces: self.spaces,
                    object,
                };
                self.nodes
                    .push(Node::open(if object { Kind::Object } else { Kind::Array }, self.at));
                self.at += 1;
                depth += 1;
                let next = self.token()?;
                if next == if object { b'}' } else { b']' } {
                    depth -= 1;
                    self.close(self.open[depth]);
                } else {
                    if object {
                        self.key(next)?;
                    }
                    continue;
                }
            } else {
                self.scalar(byte)?;
            }
            // Behind a value: close what ends here, until another value must follow.
            loop {
                if depth == 0 {
                    return self.end();
                }
                let open = self.open[depth - 1];
                match self.token()? {
                    b',' => {
                        self.at += 1;
                        if open.object {
                            let next = self.token()?;
                            self.key(next)?;
                        }
                        break;
                    }
                    b'}' if open.object => {}
                    b']' if !open.object => {}
                    _ if open.object => return self.fail(Reason::ExpectedCommaOrBrace),
                    _ => return self.fail(Reason::ExpectedCommaOrBracket),
                }
                depth -= 1;
                self.close(open);
            }
        }
    }

    fn close(&mut self, open: Open) {
        self.at += 1;
        let next = self.nodes.len() as u32;
        let compact = open.spaces == self.spaces;
        self.nodes[open.node as usize].close(self.at, next, compact);
    }

    fn end(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        if self.at < self.text.len() {
            self.fail(Reason::Trailing)
        } else {
            Ok(())
        }
    }

    /// The next byte that is no white space; the place stays on it.
    #[inline(always)]
    fn token(&mut self) -> Result<u8, JsonError> {
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
            // Indentation comes in runs.
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

    /// A property name, which starts with `byte`, and its colon.
    #[inline]
    fn key(&mut self, byte: u8) -> Result<(), JsonError> {
        if byte != b'"' {
            return self.fail(Reason::ExpectedKey);
        }
        self.string()?;
        if self.token()? != b':' {
            return self.fail(Reason::ExpectedColon);
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn scalar(&mut self, byte: u8) -> Result<(), JsonError> {
        match byte {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true", Kind::True),
            b'f' => self.word(b"false", Kind::False),
            b'n' => self.word(b"null", Kind::Null),
            _ => self.fail(Reason::ExpectedValue),
        }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Result<(), JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return self.fail(Reason::ExpectedValue);
        }
        self.leaf(kind, self.at + word.len());
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<(), JsonError> {
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
        self.leaf(kind, end + 1);
        Ok(())
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    fn number(&mut self) -> Result<(), JsonError> {
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
        self.leaf(Kind::Number, end);
        Ok(())
    }

    #[inline(always)]
    fn leaf(&mut self, kind: Kind, end: usize) {
        let next = self.nodes.len() as u32 + 1;
        self.nodes.push(Node::leaf(kind, self.at, end, next));
        self.at = end;
    }

    #[cold]
    fn fail<T>(&self, reason: Reason) -> Result<T, JsonError> {
        Err(JsonError {
            offset: self.at,
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reason(text: &str) -> Option<(usize, Reason)> {
        Tape::new()
            .parse(text.as_bytes())
            .err()
            .map(|error| (error.offset, error.reason))
    }

    #[test]
    fn accepts_what_rfc_8259_allows() {
        for text in [
            "null",
            " true ",
            "false\n",
            "0",
            "-0",
            "-0.0e+10",
            "12.5E-3",
            "\"\"",
            r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#,
            "[]",
            "{}",
            "[ ]",
            "{ }",
            r#"[1,"a",null,[{}],{"a":[]}]"#,
            "\u{feff}{}",
            "{\"a\" : 1 , \"a\" : 2}",
        ] {
            assert_eq!(reason(text), None, "{text}");
        }
    }

    #[test]
    fn names_the_place_and_reason_of_a_fault() {
        for (text, offset, expected) in [
            ("", 0, Reason::Incomplete),
            ("  ", 2, Reason::Incomplete),
            ("[1", 2, Reason::Incomplete),
            ("{\"a\"", 4, Reason::Incomplete),
            ("\"abc", 4, Reason::Incomplete),
            ("\"abc\\", 5, Reason::Incomplete),
            ("\"abc\\\"", 6, Reason::Incomplete),
            ("[1,]", 3, Reason::ExpectedValue),
            ("nul", 0, Reason::ExpectedValue),
            ("{a:1}", 1, Reason::ExpectedKey),
            ("{\"a\":1,}", 7, Reason::ExpectedKey),
            ("{\"a\" 1}", 5, Reason::ExpectedColon),
            ("{\"a\":1 2}", 7, Reason::ExpectedCommaOrBrace),
            ("{\"a\":1]", 6, Reason::ExpectedCommaOrBrace),
            ("[1 2]", 3, Reason::ExpectedCommaOrBracket),
            ("[1}", 2, Reason::ExpectedCommaOrBracket),
            ("01", 0, Reason::Number),
            ("-", 0, Reason::Number),
            ("1.", 0, Reason::Number),
            ("1e+", 0, Reason::Number),
            ("1 2", 2, Reason::Trailing),
            ("1x", 1, Reason::Trailing),
            ("\"a\tb\"", 2, Reason::Control),
            ("\"a long string before it a\u{1}b\"", 26, Reason::Control),
            ("\"\\x\"", 1, Reason::Escape),
            ("\"\\u12g4\"", 1, Reason::Escape),
            ("\"\\u12\"", 1, Reason::Escape),
            ("\"\\ud83d\"", 1, Reason::Surrogate),
            ("\"\\ud83d\\u0041\"", 1, Reason::Surrogate),
            ("\"\\ude00\"", 1, Reason::Surrogate),
        ] {
            assert_eq!(reason(text), Some((offset, expected)), "{text}");
        }
        let error = Tape::new().parse(b"[\"\xff\"]").unwrap_err();
        assert_eq!((error.offset, error.reason), (2, Reason::Utf8));
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(reason(&nested(MAX_DEPTH)), None);
        assert_eq!(reason(&nested(MAX_DEPTH + 1)), Some((MAX_DEPTH, Reason::TooDeep)));
        assert_eq!(reason(&"{\"a\":".repeat(100_000)).unwrap().1, Reason::TooDeep);
    }

    proptest! {
        /// What `serde_json` takes we take and the other way round, on texts made of JSON's own pieces.
        #[test]
        fn agrees_with_another_parser(pieces in proptest::collection::vec(proptest::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\u00e9\\n\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"", "\\", "1", "-", "0", ".5",
            "e3", "true", "null", " ", "\n", "\u{1}", "é", "\"x",
        ]), 0..24)) {
            let text = pieces.concat();
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok()
                && serde_json::from_str::<serde_json::Value>(&text).map_or_else(|error| error.to_string().contains("out of range"), |_| true);
            prop_assert_eq!(reason(&text).is_none(), theirs, "{}", text);
        }
    }
}
