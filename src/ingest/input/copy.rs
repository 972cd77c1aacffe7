//! Copies a JSON value without its white space, and replaces the texts of references.

use crate::columns::json::{Value, push_quoted};

/// A replacement of the text of one reference.
#[derive(Debug)]
pub(in crate::ingest) struct Edit {
    /// The offset of the reference's text in the input text, in bytes.
    pub(in crate::ingest) start: usize,
    /// The resolved reference, such as `Patient/1`, with the id from the input.
    pub(in crate::ingest) resolved: String,
    /// The reference to store, with a rewritten id. If it is `None`, `resolved` is stored.
    pub(in crate::ingest) written: Option<String>,
}

/// Copies values without their white space, and replaces references. Callers pass values in the order of the input
/// text, so one pass over the edits is enough.
pub(in crate::ingest) struct Writer<'e> {
    pub(in crate::ingest) out: Vec<u8>,
    pub(in crate::ingest) edits: &'e [Edit],
    pub(in crate::ingest) next: usize,
}

impl Writer<'_> {
    /// Writes a property's name unchanged, and the colon.
    pub(in crate::ingest) fn key(&mut self, raw: &str) {
        self.out.push(b'"');
        self.out.extend_from_slice(raw.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// Writes a value.
    pub(in crate::ingest) fn value(&mut self, value: Value<'_>) {
        let span = value.span();
        // Skip the edits before this value: they belong to properties that were left out.
        while self.edits.get(self.next).is_some_and(|edit| edit.start < span.start) {
            self.next += 1;
        }
        let edit = self.edits.get(self.next).filter(|edit| edit.start < span.end);
        match edit {
            None if value.is_compact() => self.out.extend_from_slice(value.raw().as_bytes()),
            Some(edit) if edit.start == span.start => {
                push_quoted(&mut self.out, edit.written.as_deref().unwrap_or(&edit.resolved));
            }
            _ if value.is_object() => {
                self.out.push(b'{');
                self.entries(value, |_| true);
                self.out.push(b'}');
            }
            _ => {
                self.out.push(b'[');
                let mut first = true;
                for item in value.items() {
                    if !std::mem::take(&mut first) {
                        self.out.push(b',');
                    }
                    self.value(item);
                }
                self.out.push(b']');
            }
        }
    }

    /// Writes the properties whose names `keep` accepts, without the object's braces.
    pub(in crate::ingest) fn entries(&mut self, object: Value<'_>, keep: impl Fn(&str) -> bool) {
        let mut first = true;
        for (key, value) in object.entries().filter(|(key, _)| keep(key.raw())) {
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            self.key(key.raw());
            self.value(value);
        }
    }
}

/// Whether the commit writes this property of `meta`.
pub(in crate::ingest) fn is_commit_property(name: &str) -> bool {
    matches!(name, "versionId" | "lastUpdated")
}
