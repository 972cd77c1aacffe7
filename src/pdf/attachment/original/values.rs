//! Estimates what a PDF's values (numbers, names, lists, dictionaries) take, before they are parsed: their memory, and
//! the depth of lists and dictionaries in each other. A small file can have millions of values: a number takes two
//! bytes in the file and more than a hundred in memory, and files compress. The tolerant reader takes stack for each
//! level.
//!
//! The estimate counts the bytes with which values can begin and end. Strings are not skipped, so it may be too high. A
//! file may also hide values from it. So it does not replace limits of the process.

use lopdf::Object;
use memchr::memmem;

/// A value. A list that grows has room for up to twice its values.
const VALUE: usize = 2 * size_of::<Object>();
/// A list. The parser begins each with room for four values.
const LIST: usize = VALUE + 4 * size_of::<Object>();
/// Half of a dictionary, which begins with two of these bytes. Each dictionary begins with room for four entries.
const HALF_A_DICTIONARY: usize = VALUE / 2 + 2 * size_of::<(u64, Vec<u8>, Object)>();
/// The maximum depth of lists and dictionaries in each other.
const MAX_DEPTH: usize = 500;

pub(super) const TOO_LARGE: &str = "the PDF unpacks to more than this file has room for";
pub(super) const TOO_DEEP: &str = "the PDF has lists that are nested too deeply";

/// Returns what is left of `room` after the values in these bytes. The error says why the file cannot be read.
pub(super) fn left(room: usize, bytes: &[u8]) -> Result<usize, &'static str> {
    let (mut memory, mut depth) = (0, 0_usize);
    let mut before = b' ';
    // Whether the current word is a number with a point, and whether it began as a keyword (`null`, `true`, `false`).
    // Such words need no separator between them: `[.1.2.3]` and `[nullnull]` have several values.
    let (mut has_point, mut is_keyword) = (false, false);
    for (place, &byte) in bytes.iter().enumerate() {
        let begins = is_white_space(before) || matches!(before, b'[' | b']' | b')' | b'>' | b'{' | b'}');
        if begins {
            has_point = byte == b'.';
            is_keyword = matches!(byte, b'n' | b't' | b'f');
        }
        memory += match byte {
            b'[' => LIST,
            b'<' => HALF_A_DICTIONARY,
            b'/' | b'(' | b'+' | b'-' => VALUE,
            b'.' if !begins && std::mem::replace(&mut has_point, true) => VALUE,
            b'n' | b't' | b'f' if is_keyword => VALUE,
            b']' | b')' | b'>' | b'{' | b'}' | b'%' => 0,
            _ if begins && !is_white_space(byte) => VALUE,
            _ => 0,
        };
        if memory > room {
            return Err(TOO_LARGE);
        }
        match (before, byte) {
            (_, b'[') | (b'<', b'<') => depth += 1,
            (_, b']') | (b'>', b'>') => depth = depth.saturating_sub(1),
            // The end of an object.
            (b'b', b'j') if bytes[..=place].ends_with(b"endobj") => depth = 0,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        before = byte;
    }
    Ok(room - memory)
}

/// The same for the values of a file that are not in its streams.
pub(super) fn left_outside_streams(mut room: usize, file: &[u8]) -> Result<usize, &'static str> {
    let (begin, end) = (memmem::Finder::new("stream"), memmem::Finder::new("endstream"));
    let mut rest = file;
    while let Some(at) = begin.find(rest) {
        let (values, stream) = rest.split_at(at);
        room = left(room, values)?;
        // The end of a stream is missing in a truncated file. Its bytes are no values.
        let Some(length) = end.find(stream) else {
            return Ok(room);
        };
        rest = &stream[length + "endstream".len()..];
    }
    left(room, rest)
}

fn is_white_space(byte: u8) -> bool {
    matches!(byte, b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 1 << 20;

    fn memory(bytes: &[u8]) -> usize {
        ROOM - left(ROOM, bytes).unwrap()
    }

    #[test]
    fn every_value_counts_whatever_separates_it() {
        for values in [
            "1 2 3 4",
            "[1]2]3]4",
            ".1.2.3.4",
            "+1-2+3+4",
            "nullnulltruefalse",
            "/A/B/C/D",
            "()()()()",
            "-1 .5\n0.25\r7",
        ] {
            assert!(memory(values.as_bytes()) >= 4 * VALUE, "{values}");
            assert!(memory(values.as_bytes()) <= 20 * VALUE, "{values}");
        }
        assert_eq!(memory(b"12.5 0.25 "), 2 * VALUE);
        assert!(memory(b"[[[[") >= 4 * 5 * size_of::<Object>());
        assert!(memory(b"<</A 1>>") >= 5 * size_of::<Object>());
    }

    #[test]
    fn depth_is_that_of_one_object() {
        let room = usize::MAX;
        let deep = |open: &str, close: &str, depth: usize| {
            left(
                room,
                format!("{}1{}", open.repeat(depth), close.repeat(depth)).as_bytes(),
            )
        };
        for (open, close) in [("[", "]"), ("<</A", ">>"), ("[ (a)", " ]")] {
            assert!(deep(open, close, 400).is_ok(), "{open}");
            assert_eq!(deep(open, close, 600), Err(TOO_DEEP), "{open}");
        }
        let flat = "1 0 obj [[ (no end \n endobj ".repeat(1_000);
        assert!(left(room, flat.as_bytes()).is_ok());
        assert!(left(room, "[1] <</A 1>> ".repeat(1_000).as_bytes()).is_ok());
    }

    #[test]
    fn bytes_of_streams_do_not_count() {
        let file = b"1 0 obj <</Length 9>> stream\n0 0 0 0 0\nendstream endobj";
        let without = b"1 0 obj <</Length 9>>  endobj";
        assert_eq!(left_outside_streams(ROOM, file), left(ROOM, without));
        assert_eq!(left_outside_streams(ROOM, b"stream 0 0 0 0"), Ok(ROOM));
        assert_eq!(left_outside_streams(VALUE, b"1 2 stream endstream"), Err(TOO_LARGE));
    }
}
