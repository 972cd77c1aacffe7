//! Writes a value without white space between tokens. The text of each token is unchanged, except for edits.

use super::value::{Kind, Value};
use std::cell::OnceCell;
use std::ops::Range;

/// The edits that [`write_compact`] applies. Each edit concerns one node, given by its index ([`Value::index`]).
#[derive(Debug, Default)]
pub struct Edits {
    /// The edits in the order in which they were made.
    edits: Vec<Edit>,
    /// The new JSON texts, concatenated. Each edit refers to a range of these bytes.
    text: Vec<u8>,
    /// Pairs of a node's index and the index of its edit, sorted. Computed at the first use.
    sorted: OnceCell<Vec<(u32, u32)>>,
}

#[derive(Clone, Copy, Debug)]
struct Edit {
    node: u32,
    way: Way,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Writes the edit's text in place of the value. If the text is empty, removes the value and, for a property, its
    /// name. If a node has several such edits, the last one applies.
    Instead,
    /// Writes a property after an object's own properties, or an item after an array's own items.
    Append,
    /// Writes an item before this item of an array.
    Before,
}

/// The edits of one node.
#[derive(Clone, Copy)]
struct OfNode<'e> {
    edits: &'e Edits,
    places: &'e [(u32, u32)],
}

impl<'e> OfNode<'e> {
    fn texts(self, way: Way) -> impl Iterator<Item = &'e [u8]> {
        let edits = self
            .places
            .iter()
            .map(move |(_, place)| self.edits.edits[*place as usize]);
        edits
            .filter(move |edit| edit.way == way)
            .map(move |edit| self.edits.text_of(&edit))
    }

    /// Writes the appended properties or items. `is_first` says that the object or array has nothing before them, so
    /// the first one needs no comma.
    fn write_behind(self, out: &mut Vec<u8>, is_first: bool) {
        let mut is_first = is_first;
        for text in self.texts(Way::Append) {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            out.extend_from_slice(text);
        }
    }

    fn instead(self) -> Option<&'e [u8]> {
        self.texts(Way::Instead).last()
    }
}

impl Edits {
    /// Returns an empty set of edits. With an empty set, the writer copies the tokens of a value unchanged.
    pub fn new() -> Edits {
        Edits::default()
    }

    /// Drops all edits and keeps the memory.
    pub fn clear(&mut self) {
        self.edits.clear();
        self.text.clear();
        self.sorted.take();
    }

    /// Whether there are no edits.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    fn add(&mut self, value: Value<'_>, way: Way, write: impl FnOnce(&mut Vec<u8>)) {
        self.sorted.take();
        let start = self.text.len();
        write(&mut self.text);
        self.edits.push(Edit {
            node: value.index(),
            way,
            start,
            end: self.text.len(),
        });
    }

    /// Writes the JSON text `json` in place of `value`.
    pub fn replace(&mut self, value: Value<'_>, json: impl AsRef<str>) {
        self.add(value, Way::Instead, |text| {
            text.extend_from_slice(json.as_ref().as_bytes())
        });
    }

    /// Writes the string `text`, quoted, in place of `value`.
    pub fn replace_str(&mut self, value: Value<'_>, text: &str) {
        self.add(value, Way::Instead, |out| push_quoted(out, text));
    }

    /// Leaves out `value`: an array's item, or a property together with its name.
    pub fn omit(&mut self, value: Value<'_>) {
        self.add(value, Way::Instead, |_| ());
    }

    /// Appends a property with the JSON text `json` to the object `value`, after earlier appended properties.
    pub fn append(&mut self, value: Value<'_>, name: &str, json: &str) {
        self.add(value, Way::Append, |text| {
            push_quoted(text, name);
            text.push(b':');
            text.extend_from_slice(json.as_bytes());
        });
    }

    /// Appends a property with the string `text`, quoted, to the object `value`, after earlier appended properties.
    pub fn append_str(&mut self, value: Value<'_>, name: &str, text: &str) {
        self.add(value, Way::Append, |out| {
            push_quoted(out, name);
            out.push(b':');
            push_quoted(out, text);
        });
    }

    /// Appends the JSON text `json` as an item to the array `list`, after earlier appended items.
    pub fn push(&mut self, list: Value<'_>, json: &str) {
        self.add(list, Way::Append, |text| text.extend_from_slice(json.as_bytes()));
    }

    /// Inserts the JSON text `json` as an item before `item` of an array, after items that were inserted there
    /// earlier.
    pub fn insert_before(&mut self, item: Value<'_>, json: &str) {
        self.add(item, Way::Before, |text| text.extend_from_slice(json.as_bytes()));
    }

    /// Whether an edit may write a property with this name, given in quotes, or replace the value of such a property.
    /// `false` is certain. `true` is not, because the name may be a part of other text.
    pub fn may_write(&self, root: Value<'_>, quoted: &str) -> bool {
        let is_value = |edit: &Edit| edit.way == Way::Instead && root.follows(edit.node, quoted);
        memchr::memmem::find(&self.text, quoted.as_bytes()).is_some() || self.edits.iter().any(is_value)
    }

    fn text_of(&self, edit: &Edit) -> &[u8] {
        &self.text[edit.start..edit.end]
    }

    /// Returns pairs of a node's index and the index of its edit, sorted by node. Edits of one node keep the order in
    /// which they were made.
    fn sorted(&self) -> &[(u32, u32)] {
        self.sorted.get_or_init(|| {
            let mut sorted: Vec<(u32, u32)> = self.edits.iter().map(|edit| edit.node).zip(0..).collect();
            sorted.sort_unstable();
            sorted
        })
    }

    /// Returns the edits of a range of nodes, as pairs of a node's index and the index of its edit.
    fn within(&self, nodes: Range<u32>) -> &[(u32, u32)] {
        let sorted = self.sorted();
        let rest = &sorted[sorted.partition_point(|(node, _)| *node < nodes.start)..];
        // A linear search for the end is enough, because a range usually has few edits or none.
        let end = rest.iter().position(|(node, _)| *node >= nodes.end);
        &rest[..end.unwrap_or(rest.len())]
    }

    /// Whether an edit concerns a node of this range.
    fn touch(&self, nodes: Range<u32>) -> bool {
        let sorted = self.sorted();
        let first = sorted.get(sorted.partition_point(|(node, _)| *node < nodes.start));
        first.is_some_and(|(node, _)| *node < nodes.end)
    }

    fn of(&self, value: Value<'_>) -> OfNode<'_> {
        let node = value.index();
        let places = if self.edits.is_empty() {
            &[]
        } else {
            self.within(node..node + 1)
        };
        OfNode { edits: self, places }
    }

    fn omits(&self, value: Value<'_>) -> bool {
        self.of(value).instead() == Some(b"")
    }
}

/// Writes `value` with `edits` to `out`: its tokens in order, without the white space between them.
pub fn write_compact(value: Value<'_>, out: &mut Vec<u8>, edits: &Edits) {
    let edited = edits.touch(value.extent());
    if !edited && value.is_compact() {
        out.extend_from_slice(value.raw().as_bytes());
        return;
    }
    if !edited {
        out.reserve(value.span().len());
    }
    let edit = edits.of(value);
    if let Some(text) = edit.instead() {
        out.extend_from_slice(text);
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
            edit.write_behind(out, first);
            out.push(b'}');
        }
        Kind::Array => {
            out.push(b'[');
            for item in value.items().filter(|item| !edits.omits(*item)) {
                separate(out);
                for before in edits.of(item).texts(Way::Before) {
                    out.extend_from_slice(before);
                    out.push(b',');
                }
                write_compact(item, out, edits);
            }
            edit.write_behind(out, first);
            out.push(b']');
        }
        _ => out.extend_from_slice(value.raw().as_bytes()),
    }
}

/// Writes an object as [`write_compact`] does, but ignores replacements of `object` itself. For each property that is
/// not omitted, calls `wrote` with the byte ranges of its value: first the range in the original text, then the range
/// in `out`.
pub fn write_object(
    object: Value<'_>,
    out: &mut Vec<u8>,
    edits: &Edits,
    mut wrote: impl FnMut(Range<usize>, Range<usize>),
) {
    out.push(b'{');
    let mut first = true;
    for (key, value) in object.entries().filter(|(_, value)| !edits.omits(*value)) {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(key.raw().as_bytes());
        out.extend_from_slice(b"\":");
        let start = out.len();
        write_compact(value, out, edits);
        wrote(value.span(), start..out.len());
    }
    edits.of(object).write_behind(out, first);
    out.push(b'}');
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
    fn an_object_tells_where_its_properties_are() {
        let text = r#"{"a":"b","id":"x","meta":{"tag":[1]},"ref":{"reference":"A/1"}}"#;
        let mut tape = Tape::new();
        let root = tape.parse(text.as_bytes()).unwrap();
        let reference = root.get("ref").unwrap();
        let mut edits = Edits::new();
        edits.replace_str(root.get("a").unwrap(), "longer");
        edits.append(root, "z", "1");
        assert!(!edits.may_write(root, "\"reference\""));
        let mut places = Vec::new();
        let mut out = Vec::new();
        write_object(root, &mut out, &edits, |from, to| {
            places.push((text[from].to_owned(), to))
        });
        let mut expected = Vec::new();
        write_compact(root, &mut expected, &edits);
        assert_eq!(out, expected);
        let written: Vec<&str> = places
            .iter()
            .map(|(_, to)| str::from_utf8(&out[to.clone()]).unwrap())
            .collect();
        assert_eq!(
            written,
            [r#""longer""#, r#""x""#, r#"{"tag":[1]}"#, r#"{"reference":"A/1"}"#]
        );
        assert_eq!(places[1].0, r#""x""#);
        edits.replace_str(reference.get("reference").unwrap(), "A/2");
        assert!(edits.may_write(root, "\"reference\""));
        edits.clear();
        edits.append(root, "other", r#"[{"reference":"A/3"}]"#);
        assert!(edits.may_write(root, "\"reference\""));
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
