//! The parser: reads a JSON text in one pass and puts its nodes on a tape.

use super::cursor::Cursor;
use super::error::{JsonError, MAX_DEPTH, Reason};
use super::value::{Kind, Node, Value};

/// The average number of bytes of text for each node in typical resources.
const BYTES_OF_A_NODE: usize = 12;

/// The nodes of one JSON text, or of several texts that were [appended](Tape::append). A tape keeps its memory for
/// the next text.
#[derive(Debug, Default)]
pub struct Tape {
    pub(super) nodes: Vec<Node>,
}

impl Tape {
    /// Returns an empty tape.
    pub fn new() -> Tape {
        Tape::default()
    }

    /// Returns an empty tape with memory for texts of this many bytes, if they have as many nodes as typical
    /// resources.
    pub fn with_room_for(bytes: usize) -> Tape {
        Tape {
            nodes: Vec::with_capacity(bytes / BYTES_OF_A_NODE),
        }
    }

    /// Checks all of `text` and returns the value that it contains. Drops the nodes of earlier texts.
    pub fn parse<'t>(&'t mut self, text: &'t [u8]) -> Result<Value<'t>, JsonError> {
        self.nodes.clear();
        let checked = check_utf8(text)?;
        let mut cursor = Cursor::new(text);
        value(&mut cursor, &mut Nodes::new(&mut self.nodes), 0)?;
        cursor.end()?;
        Ok(Value::new(checked, &self.nodes, 0))
    }

    /// Drops all nodes and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Checks all of `text` and appends its nodes. Returns the index of the node of its value, which the caller passes
    /// to [`value`](Self::value). On an error, the tape keeps only the nodes that it had before.
    pub fn append(&mut self, text: &str) -> Result<u32, JsonError> {
        let place = self.nodes.len();
        let mut read = || {
            let full = place > (u32::MAX as usize) - text.len();
            if full || text.len() >= u32::MAX as usize {
                return Err(JsonError {
                    offset: 0,
                    reason: Reason::TooLarge,
                });
            }
            let mut cursor = Cursor::new(text.as_bytes());
            value(&mut cursor, &mut Nodes::new(&mut self.nodes), 0)?;
            cursor.end()
        };
        match read() {
            Ok(()) => Ok(place as u32),
            Err(error) => {
                self.nodes.truncate(place);
                Err(error)
            }
        }
    }

    /// Returns the value of a text that was [appended](Self::append). `place` is the index that `append` returned for
    /// `text`.
    pub fn value<'t>(&'t self, place: u32, text: &'t str) -> Value<'t> {
        Value::new(text, &self.nodes, place)
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// Returns the text as a string. Fails if it is not valid UTF-8, or if it has `u32::MAX` bytes or more, because the
/// tape stores positions as `u32`.
pub(super) fn check_utf8(text: &[u8]) -> Result<&str, JsonError> {
    if text.len() >= u32::MAX as usize {
        return Err(JsonError {
            offset: 0,
            reason: Reason::TooLarge,
        });
    }
    simdutf8::basic::from_utf8(text).map_err(|_| JsonError {
        offset: simdutf8::compat::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len),
        reason: Reason::Utf8,
    })
}

/// Receives the values that the parser reads.
pub(super) trait Sink {
    /// Receives a scalar or a property's name.
    fn leaf(&mut self, kind: Kind, start: usize, end: usize);
    /// Receives the start of an array or object at the cursor. `depth` is the number of arrays and objects around it.
    fn open(&mut self, depth: usize, object: bool, cursor: &Cursor<'_>);
    /// Receives the end of an array or object. The cursor is just after the closing bracket. `depth` is the same as at
    /// the start of the array or object.
    fn close(&mut self, depth: usize, cursor: &Cursor<'_>);
}

/// A sink that keeps nothing. The parser then only checks the text.
pub(super) struct Nothing;

impl Sink for Nothing {
    #[inline(always)]
    fn leaf(&mut self, _: Kind, _: usize, _: usize) {}
    #[inline(always)]
    fn open(&mut self, _: usize, _: bool, _: &Cursor<'_>) {}
    #[inline(always)]
    fn close(&mut self, _: usize, _: &Cursor<'_>) {}
}

/// A sink that puts a node on a tape for each value and each property's name.
pub(super) struct Nodes<'n> {
    pub(super) nodes: &'n mut Vec<Node>,
    open: [Open; MAX_DEPTH],
}

/// An array or object whose end has not been read yet.
#[derive(Clone, Copy, Default)]
struct Open {
    node: u32,
    /// The cursor's count of white space bytes when the array or object began. If the cursor has the same count at the
    /// end, the array or object has no white space outside strings.
    spaces: u32,
}

impl<'n> Nodes<'n> {
    pub(super) fn new(nodes: &'n mut Vec<Node>) -> Nodes<'n> {
        Nodes {
            nodes,
            open: [Open::default(); MAX_DEPTH],
        }
    }
}

impl Nodes<'_> {
    /// Closes an object. `clipped` says whether some of its known properties are not on the tape.
    pub(super) fn close_clipped(&mut self, depth: usize, cursor: &Cursor<'_>, clipped: bool) {
        self.close(depth, cursor);
        if clipped {
            self.nodes[self.open[depth].node as usize].clip();
        }
    }
}

impl Sink for Nodes<'_> {
    #[inline(always)]
    fn leaf(&mut self, kind: Kind, start: usize, end: usize) {
        let next = self.nodes.len() as u32 + 1;
        self.nodes.push(Node::leaf(kind, start, end, next));
    }

    #[inline(always)]
    fn open(&mut self, depth: usize, object: bool, cursor: &Cursor<'_>) {
        self.open[depth] = Open {
            node: self.nodes.len() as u32,
            spaces: cursor.spaces,
        };
        let kind = if object { Kind::Object } else { Kind::Array };
        self.nodes.push(Node::open(kind, cursor.at));
    }

    #[inline(always)]
    fn close(&mut self, depth: usize, cursor: &Cursor<'_>) {
        let Open { node, spaces } = self.open[depth];
        let next = self.nodes.len() as u32;
        self.nodes[node as usize].close(cursor.at, next, spaces == cursor.spaces);
    }
}

/// Reads a value at the cursor. `base` is the number of arrays and objects around the value.
pub(super) fn value<S: Sink>(cursor: &mut Cursor<'_>, sink: &mut S, base: usize) -> Result<(), JsonError> {
    let mut depth = base;
    // One bit for each container whose end has not been read. The lowest bit is the innermost container. A bit is 1 for
    // an object, and 0 for an array.
    let mut objects = 0u128;
    loop {
        // At this point of the loop, the text must continue with a value.
        let byte = cursor.token()?;
        if byte == b'{' || byte == b'[' {
            if depth == MAX_DEPTH {
                return cursor.fail(Reason::TooDeep);
            }
            let object = byte == b'{';
            sink.open(depth, object, cursor);
            cursor.at += 1;
            let next = cursor.token()?;
            if next == if object { b'}' } else { b']' } {
                cursor.at += 1;
                sink.close(depth, cursor);
            } else {
                objects = objects << 1 | u128::from(object);
                depth += 1;
                if object {
                    key(cursor, sink, next)?;
                }
                continue;
            }
        } else {
            let start = cursor.at;
            let kind = cursor.scalar(byte)?;
            sink.leaf(kind, start, cursor.at);
        }
        // A value has ended. Close each container that ends here, until another value must follow.
        loop {
            if depth == base {
                return Ok(());
            }
            let object = objects & 1 == 1;
            match cursor.token()? {
                b',' => {
                    cursor.at += 1;
                    if object {
                        let next = cursor.token()?;
                        key(cursor, sink, next)?;
                    }
                    break;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ if object => return cursor.fail(Reason::ExpectedCommaOrBrace),
                _ => return cursor.fail(Reason::ExpectedCommaOrBracket),
            }
            cursor.at += 1;
            depth -= 1;
            objects >>= 1;
            sink.close(depth, cursor);
        }
    }
}

#[inline(always)]
fn key<S: Sink>(cursor: &mut Cursor<'_>, sink: &mut S, byte: u8) -> Result<(), JsonError> {
    let name = cursor.key(byte)?;
    sink.leaf(name.kind, name.start, name.end);
    Ok(())
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
    fn texts_stand_on_one_tape_behind_each_other() {
        let texts = [r#"{"a":[1,{"b":2}]}"#, r#"[3, 4]"#, r#"{"c":"d"}"#];
        let mut tape = Tape::new();
        let mut places = Vec::new();
        for text in texts {
            places.push(tape.append(text).unwrap());
            let before = tape.len();
            assert!(tape.append("[1,").is_err());
            assert_eq!(tape.len(), before, "a fault leaves nothing");
        }
        let first = tape.value(places[0], texts[0]);
        assert_eq!(
            first.get("a").unwrap().items().nth(1).unwrap().get("b").unwrap().raw(),
            "2"
        );
        let second = tape.value(places[1], texts[1]);
        assert_eq!(second.items().map(|item| item.raw()).collect::<Vec<_>>(), ["3", "4"]);
        assert_eq!(tape.value(places[2], texts[2]).get_str("c").unwrap(), "d");
        tape.clear();
        assert!(tape.is_empty());
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(reason(&nested(MAX_DEPTH)), None);
        assert_eq!(reason(&nested(MAX_DEPTH + 1)), Some((MAX_DEPTH, Reason::TooDeep)));
        assert_eq!(reason(&"{\"a\":".repeat(100_000)).unwrap().1, Reason::TooDeep);
    }

    proptest! {
        /// Checks that this parser and `serde_json` accept the same texts. The texts are random sequences of JSON
        /// tokens.
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
