//! The values of a parsed text, which point to nodes on its tape.

use super::text::unescape;
use std::borrow::Cow;

/// The kind of a JSON [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number.
    Number,
    /// A string without a backslash.
    String,
    /// A string with escapes.
    Escaped,
    /// An array.
    Array,
    /// An object. On the tape, the node of each property's name is followed by the nodes of its value.
    Object,
}

/// A token or a container of the text: the bytes `start..end`, quotes and brackets included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    start: u32,
    end: u32,
    /// The index of the first node after this one and after everything inside it.
    next: u32,
    kind: Kind,
    /// Whether the value has no white space except in strings. `false` if `clipped` is `true`, because the skipped part
    /// may have white space.
    compact: bool,
    /// Whether the parser skipped a known property of this object, or all contents of this array or object. The skipped
    /// part is not on the tape.
    clipped: bool,
}

impl Node {
    #[inline(always)]
    pub(super) fn leaf(kind: Kind, start: usize, end: usize, next: u32) -> Node {
        Node {
            start: start as u32,
            end: end as u32,
            next,
            kind,
            compact: true,
            clipped: false,
        }
    }

    /// Returns the node of an array or object whose contents are not on the tape.
    pub(super) fn clipped(kind: Kind, start: usize, end: usize, next: u32) -> Node {
        Node {
            clipped: true,
            compact: false,
            ..Node::leaf(kind, start, end, next)
        }
    }

    pub(super) fn open(kind: Kind, start: usize) -> Node {
        Node {
            start: start as u32,
            end: start as u32,
            next: 0,
            kind,
            compact: false,
            clipped: false,
        }
    }

    /// Records that some properties of the object are not on the tape.
    pub(super) fn clip(&mut self) {
        self.clipped = true;
        self.compact = false;
    }

    pub(super) fn close(&mut self, end: usize, next: u32, compact: bool) {
        self.end = end as u32;
        self.next = next;
        self.compact = compact;
    }
}

/// A value on a tape. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Value<'t> {
    text: &'t str,
    nodes: &'t [Node],
    at: u32,
}

impl<'t> Value<'t> {
    pub(super) fn new(text: &'t str, nodes: &'t [Node], at: u32) -> Value<'t> {
        Value { text, nodes, at }
    }

    #[inline(always)]
    fn node(&self) -> &'t Node {
        &self.nodes[self.at as usize]
    }

    #[inline(always)]
    fn sibling(&self, at: u32) -> Value<'t> {
        Value { at, ..*self }
    }

    /// Returns the kind of the value.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        self.node().kind
    }

    /// Returns the index of this value's node, which identifies the value in [`super::Edits`].
    pub fn index(&self) -> u32 {
        self.at
    }

    /// Returns the byte range of the value in the text.
    pub fn span(&self) -> std::ops::Range<usize> {
        let node = self.node();
        node.start as usize..node.end as usize
    }

    /// Returns the value as written, quotes and brackets included.
    #[inline]
    pub fn raw(&self) -> &'t str {
        let node = self.node();
        &self.text[node.start as usize..node.end as usize]
    }

    /// Returns the indexes of the nodes of this value and of everything inside it.
    pub(super) fn extent(&self) -> std::ops::Range<u32> {
        self.at..self.node().next
    }

    /// Whether [`raw`](Value::raw) has no white space between tokens. Always `false` for a clipped value.
    pub fn is_compact(&self) -> bool {
        self.node().compact
    }

    /// Whether the parser skipped known properties of this object, or all contents of this array or object. They are
    /// not on the tape, but [`raw`](Value::raw) still has them. Unknown properties do not count.
    pub fn is_clipped(&self) -> bool {
        self.node().clipped
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        self.kind() == Kind::Object
    }

    /// Whether this is an array.
    pub fn is_array(&self) -> bool {
        self.kind() == Kind::Array
    }

    /// Returns the value of a boolean. `None` for other kinds.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// Returns a number as written. `None` for other kinds.
    pub fn number(&self) -> Option<&'t str> {
        (self.kind() == Kind::Number).then(|| self.raw())
    }

    /// Whether this is a string.
    pub fn is_string(&self) -> bool {
        matches!(self.kind(), Kind::String | Kind::Escaped)
    }

    /// Returns the text of a string, with its escapes replaced. `None` for other kinds.
    #[inline]
    pub fn as_str(&self) -> Option<Cow<'t, str>> {
        match self.kind() {
            Kind::String => Some(Cow::Borrowed(self.inner())),
            Kind::Escaped => Some(Cow::Owned(unescape(self.inner()))),
            _ => None,
        }
    }

    /// Whether the text of the node before `node` is `token`. If `node` is a property's value, the node before it is
    /// the property's name. `node` is an index on the tape of this value.
    pub(super) fn follows(&self, node: u32, token: &str) -> bool {
        let before = node.checked_sub(1).and_then(|at| self.nodes.get(at as usize));
        let text = before.and_then(|before| self.text.get(before.start as usize..before.end as usize));
        text == Some(token)
    }

    /// Returns the text between the quotes of a string.
    #[inline(always)]
    fn inner(&self) -> &'t str {
        let node = self.node();
        &self.text[node.start as usize + 1..node.end as usize - 1]
    }

    /// Returns the properties of an object, in order. There are none for other kinds.
    #[inline]
    pub fn entries(&self) -> Entries<'t> {
        let end = if self.is_object() {
            self.node().next
        } else {
            self.at + 1
        };
        Entries {
            next: self.sibling(self.at + 1),
            end,
        }
    }

    /// Returns the items of an array, in order. There are none for other kinds.
    #[inline]
    pub fn items(&self) -> Items<'t> {
        let end = if self.is_array() { self.node().next } else { self.at + 1 };
        Items {
            next: self.sibling(self.at + 1),
            end,
        }
    }

    /// Returns the value of an object's property. If several properties have the name, returns the last one.
    pub fn get(&self, name: &str) -> Option<Value<'t>> {
        let mut found = None;
        for (key, value) in self.entries() {
            if key.is(name) {
                found = Some(value);
            }
        }
        found
    }

    /// Returns the text of an object's property. `None` if the property is missing or is not a string.
    pub fn get_str(&self, name: &str) -> Option<Cow<'t, str>> {
        self.get(name)?.as_str()
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

/// The name of a property.
#[derive(Clone, Copy)]
pub struct Key<'t>(Value<'t>);

impl<'t> Key<'t> {
    /// Returns the name between its quotes, as written. An escape in it is not replaced.
    #[inline(always)]
    pub fn raw(&self) -> &'t str {
        self.0.inner()
    }

    /// Whether the name is written with escapes.
    #[inline(always)]
    pub fn is_escaped(&self) -> bool {
        self.0.kind() == Kind::Escaped
    }

    /// Returns the name, with its escapes replaced.
    pub fn name(&self) -> Cow<'t, str> {
        if self.is_escaped() {
            Cow::Owned(unescape(self.raw()))
        } else {
            Cow::Borrowed(self.raw())
        }
    }

    /// Whether the property has this name.
    #[inline]
    pub fn is(&self, name: &str) -> bool {
        if self.is_escaped() {
            return self.name() == name;
        }
        let node = self.0.node();
        // Compare the lengths first, which needs no reading of the text. Most names differ in length.
        let length = (node.end - node.start) as usize - 2;
        length == name.len() && self.raw() == name
    }
}

/// The properties of an object.
#[derive(Clone)]
pub struct Entries<'t> {
    next: Value<'t>,
    end: u32,
}

impl<'t> Iterator for Entries<'t> {
    type Item = (Key<'t>, Value<'t>);

    #[inline]
    fn next(&mut self) -> Option<(Key<'t>, Value<'t>)> {
        if self.next.at >= self.end {
            return None;
        }
        let key = Key(self.next);
        let value = self.next.sibling(self.next.at + 1);
        self.next.at = value.node().next;
        Some((key, value))
    }
}

/// The items of an array.
#[derive(Clone)]
pub struct Items<'t> {
    next: Value<'t>,
    end: u32,
}

impl<'t> Iterator for Items<'t> {
    type Item = Value<'t>;

    #[inline]
    fn next(&mut self) -> Option<Value<'t>> {
        if self.next.at >= self.end {
            return None;
        }
        let value = self.next;
        self.next.at = value.node().next;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tape;

    #[test]
    fn walks_in_order_and_finds_the_last_of_a_name() {
        let text = br#" {"a": 1.50, "b": [true, "x\ny", null, {}], "a": {"c": "z"}, "\u0064": -0} "#;
        let mut tape = Tape::new();
        let root = tape.parse(text).unwrap();
        let names: Vec<_> = root.entries().map(|(key, _)| key.name().into_owned()).collect();
        assert_eq!(names, ["a", "b", "a", "d"]);
        assert_eq!(root.entries().next().unwrap().1.number(), Some("1.50"));
        assert_eq!(root.get("a").unwrap().get_str("c").unwrap(), "z");
        assert_eq!(root.get("d").unwrap().number(), Some("-0"));
        let items: Vec<_> = root.get("b").unwrap().items().map(|item| item.raw()).collect();
        assert_eq!(items, ["true", r#""x\ny""#, "null", "{}"]);
        assert_eq!(root.get("b").unwrap().items().nth(1).unwrap().as_str().unwrap(), "x\ny");
        assert_eq!(root.get("b").unwrap().items().next().unwrap().as_bool(), Some(true));
        assert!(root.get("missing").is_none());
        assert_eq!(root.items().count(), 0);
        assert_eq!(root.get("b").unwrap().entries().count(), 0);
    }

    #[test]
    fn a_tape_serves_one_text_after_another() {
        let mut tape = Tape::new();
        assert_eq!(tape.parse(b"[1,2,3]").unwrap().items().count(), 3);
        assert!(tape.parse(b"[1,2").is_err());
        assert_eq!(tape.parse(b"{}").unwrap().entries().count(), 0);
    }
}
