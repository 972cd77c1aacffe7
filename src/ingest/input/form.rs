//! Distinguishes lines of JSON from a single document by the form of the text, even if it is damaged. Nothing here
//! parses JSON.

/// Whether the text is an object (or something malformed) that ends at the text's end: braces balance outside strings.
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

/// Whether a text that does not begin with a whole line is still NDJSON whose first lines are damaged.
///
/// In one document an object follows `[`, `,` or `:`. So a line that is a whole object and follows something else
/// starts a new document. A damaged document without a comma may have such lines too, but then more of its lines are
/// properties and closing brackets. An unfinished last line is ignored unless the text is `whole`.
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
