//! Distinguishes NDJSON from a single JSON document by the form of the text, even if the text is damaged. Nothing here
//! parses JSON.

/// Whether the first brace outside strings is closed, and only white space follows. If so, the text is one object, or
/// it is malformed.
pub(in crate::ingest) fn is_closed(text: &[u8]) -> bool {
    let mut depth = 0usize;
    let mut quoted = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if quoted => {
                bytes.next();
            }
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return bytes.as_slice().trim_ascii().is_empty();
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether a text is NDJSON even though its first line is not one whole object.
///
/// In a single document, an object follows `[`, `,` or `:`. So a line that is a whole object and follows anything else
/// starts a new document. A damaged single document that lacks commas may have such lines, too. But most of its lines
/// begin with a property or a closing bracket.
///
/// `whole` is true if the text goes to the end of the file. If it is not, the last line is unfinished and is ignored.
pub(in crate::ingest) fn has_lines(text: &[u8], whole: bool) -> bool {
    let text = match memchr::memrchr(b'\n', text) {
        Some(end) if !whole => &text[..end],
        _ => text,
    };
    let (mut objects, mut fragments) = (0usize, 0usize);
    let mut before = None;
    for line in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        let Some(last) = line.last() else { continue };
        match line[0] {
            b'{' if !matches!(before, None | Some(b'[' | b',' | b':')) && is_closed(line) => objects += 1,
            b'"' | b'}' | b']' => fragments += 1,
            _ => {}
        }
        before = Some(*last);
    }
    objects > fragments
}
