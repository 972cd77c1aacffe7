//! Writing a value again without its white space, token by token as it was, with some of it exchanged.

use super::value::{Kind, Value};
use std::collections::BTreeMap;

/// What a writer does differently from copying, by node number ([`Value::index`]).
#[derive(Debug, Default)]
pub struct Edits {
    by_node: BTreeMap<u32, Edit>,
}

#[derive(Debug, Default)]
struct Edit {
    /// In place of the value; empty text means to leave out the value and, of a property, its name.
    instead: Option<String>,
    /// Properties to write behind an object's own, or items behind an array's.
    append: String,
    /// Items to write before this item of an array.
    before: String,
}

impl Edits {
    /// No edits: a plain copy.
    pub fn new() -> Edits {
        Edits::default()
    }

    /// Drops all edits and keeps the memory.
    pub fn clear(&mut self) {
        self.by_node.clear();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    /// Writes the JSON text `json` in place of `value`.
    pub fn replace(&mut self, value: Value<'_>, json: impl Into<String>) {
        self.by_node.entry(value.index()).or_default().instead = Some(json.into());
    }

    /// Writes the string `text`, quoted, in place of `value`.
    pub fn replace_str(&mut self, value: Value<'_>, text: &str) {
        let mut json = Vec::with_capacity(text.len() + 2);
        push_quoted(&mut json, text);
        self.replace(value, String::from_utf8(json).unwrap_or_default());
    }

    /// Leaves out `value`: an array's item, or a property's value together with its name.
    pub fn omit(&mut self, value: Value<'_>) {
        self.by_node.entry(value.index()).or_default().instead = Some(String::new());
    }

    /// Writes a property behind those that the object `value` has (and those appended before).
    pub fn append(&mut self, value: Value<'_>, name: &str, json: &str) {
        let append = &mut self.by_node.entry(value.index()).or_default().append;
        if !append.is_empty() {
            append.push(',');
        }
        let mut key = Vec::with_capacity(name.len() + 3);
        push_quoted(&mut key, name);
        append.push_str(std::str::from_utf8(&key).unwrap_or_default());
        append.push(':');
        append.push_str(json);
    }

    /// Writes the JSON text `json` as an item behind those that the array `list` has (and those pushed before).
    pub fn push(&mut self, list: Value<'_>, json: &str) {
        let append = &mut self.by_node.entry(list.index()).or_default().append;
        if !append.is_empty() {
            append.push(',');
        }
        append.push_str(json);
    }

    /// Writes the JSON text `json` as an item before `item` of an array (and behind those inserted there before).
    pub fn insert_before(&mut self, item: Value<'_>, json: &str) {
        let before = &mut self.by_node.entry(item.index()).or_default().before;
        before.push_str(json);
        before.push(',');
    }

    fn get(&self, node: u32) -> Option<&Edit> {
        if self.by_node.is_empty() {
            None
        } else {
            self.by_node.get(&node)
        }
    }

    fn omits(&self, value: Value<'_>) -> bool {
        self.get(value.index())
            .is_some_and(|edit| edit.instead.as_deref() == Some(""))
    }

    fn touch(&self, extent: std::ops::Range<u32>) -> bool {
        !self.by_node.is_empty() && self.by_node.range(extent).next().is_some()
    }
}

/// Writes `value` to `out`: its tokens in their order without the white space between them, with `edits` made.
pub fn write_compact(value: Value<'_>, out: &mut Vec<u8>, edits: &Edits) {
    let edited = edits.touch(value.extent());
    if !edited && value.is_compact() {
        out.extend_from_slice(value.raw().as_bytes());
        return;
    }
    if !edited {
        out.reserve(value.span().len());
    }
    let edit = if edited { edits.get(value.index()) } else { None };
    if let Some(text) = edit.and_then(|edit| edit.instead.as_deref()) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let mut first = true;
    let mut separate = |out: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
    };
    match value.kind() {
        Kind::Object => {
            out.push(b'{');
            for (key, item) in value.entries().filter(|(_, item)| !edits.omits(*item)) {
                separate(out);
                out.push(b'"');
                out.extend_from_slice(key.raw().as_bytes());
                out.extend_from_slice(b"\":");
                write_compact(item, out, edits);
            }
            if let Some(append) = edit
                .map(|edit| edit.append.as_str())
                .filter(|append| !append.is_empty())
            {
                separate(out);
                out.extend_from_slice(append.as_bytes());
            }
            out.push(b'}');
        }
        Kind::Array => {
            out.push(b'[');
            for item in value.items().filter(|item| !edits.omits(*item)) {
                separate(out);
                if let Some(edit) = edits.get(item.index()) {
                    out.extend_from_slice(edit.before.as_bytes());
                }
                write_compact(item, out, edits);
            }
            if let Some(append) = edit
                .map(|edit| edit.append.as_str())
                .filter(|append| !append.is_empty())
            {
                separate(out);
                out.extend_from_slice(append.as_bytes());
            }
            out.push(b']');
        }
        _ => out.extend_from_slice(value.raw().as_bytes()),
    }
}

/// Writes `text` as a JSON string.
pub fn push_quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let at = super::text::string_end(rest, 0);
        out.extend_from_slice(&rest[..at]);
        let Some(byte) = rest.get(at) else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = &rest[at + 1..];
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::super::Tape;
    use super::*;
    use proptest::prelude::*;

    fn compact(text: &str, edit: impl Fn(Value<'_>, &mut Edits)) -> String {
        let mut tape = Tape::new();
        let root = tape.parse(text.as_bytes()).unwrap();
        let mut edits = Edits::new();
        edit(root, &mut edits);
        let mut out = Vec::new();
        write_compact(root, &mut out, &edits);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn copies_tokens_without_white_space() {
        let text = " { \"b\" : 1.50 , \"a\" : [ \"x \\u00e9\" , { } , [ ] ] , \"b\" : { \"c\":[1,2] } } ";
        assert_eq!(
            compact(text, |_, _| ()),
            r#"{"b":1.50,"a":["x \u00e9",{},[]],"b":{"c":[1,2]}}"#
        );
    }

    #[test]
    fn edits_what_it_is_told_to() {
        let text = r#"{"id":"x","meta":{"versionId":"7","tag":[1, 2, 3]},"ref":{"reference":"urn:uuid:1"}}"#;
        let edited = compact(text, |root, edits| {
            let meta = root.get("meta").unwrap();
            edits.omit(root.get("id").unwrap());
            edits.omit(meta.get("tag").unwrap().items().nth(1).unwrap());
            edits.replace(meta.get("versionId").unwrap(), "\"8\"");
            edits.append(meta, "lastUpdated", "\"now\"");
            edits.append(meta, "sou\"rce", "null");
            edits.replace_str(root.get("ref").unwrap().get("reference").unwrap(), "A/\"1\"\u{1}");
        });
        assert_eq!(
            edited,
            r#"{"meta":{"versionId":"8","tag":[1,3],"lastUpdated":"now","sou\"rce":null},"ref":{"reference":"A/\"1\"\u0001"}}"#
        );
        assert_eq!(compact("{}", |root, edits| edits.append(root, "a", "1")), r#"{"a":1}"#);
        assert_eq!(
            compact(r#"{"a":1}"#, |root, edits| edits.omit(root.get("a").unwrap())),
            "{}"
        );
    }

    #[test]
    fn lists_gain_items() {
        let edited = compact(r#"{"a":[1,{"b":2}],"c":[],"d":[3]}"#, |root, edits| {
            let list = root.get("a").unwrap();
            let last = list.items().nth(1).unwrap();
            edits.insert_before(last, "7");
            edits.insert_before(last, "8");
            edits.append(last, "c", "9");
            edits.push(list, "4");
            edits.push(list, "5");
            edits.push(root.get("c").unwrap(), "6");
            edits.omit(root.get("d").unwrap().items().next().unwrap());
            edits.push(root.get("d").unwrap(), "0");
        });
        assert_eq!(edited, r#"{"a":[1,7,8,{"b":2,"c":9},4,5],"c":[6],"d":[0]}"#);
    }

    proptest! {
        #[test]
        fn a_quoted_string_reads_back(text in "\\PC*|[\\x00-\\x7f]*") {
            let mut quoted = Vec::new();
            push_quoted(&mut quoted, &text);
            let mut tape = Tape::new();
            prop_assert_eq!(tape.parse(&quoted).unwrap().as_str().unwrap(), text);
        }
    }
}
