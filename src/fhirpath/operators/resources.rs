//! Compares whole resources as JSON text. Two resources are equal if they have the same content. The order of
//! properties and white space do not matter.

use crate::columns::json::{Tape, Value, push_quoted};

/// Whether two texts are the same, or are JSON with the same content.
pub(super) fn same(one: &str, another: &str) -> bool {
    one == another || matches!((plain(one), plain(another)), (Some(one), Some(another)) if one == another)
}

/// Returns the JSON with sorted properties and without white space. Digits stay as they are. `None` if the text is
/// not JSON.
pub(super) fn plain(text: &str) -> Option<Vec<u8>> {
    let mut tape = Tape::new();
    let root = tape.parse(text.as_bytes()).ok()?;
    let mut out = Vec::with_capacity(text.len());
    write(root, &mut out);
    Some(out)
}

/// Appends the JSON to `out`. The recursion is not deep, because the parser limits the depth of the JSON.
fn write(value: Value<'_>, out: &mut Vec<u8>) {
    if value.is_object() {
        let mut entries: Vec<_> = value.entries().map(|(key, value)| (key.name(), value)).collect();
        entries.sort_by(|one, another| one.0.cmp(&another.0));
        out.push(b'{');
        for (place, (key, value)) in entries.iter().enumerate() {
            // If several properties have the same name, only the last one is written.
            if entries.get(place + 1).is_some_and(|next| next.0 == *key) {
                continue;
            }
            push_quoted(out, key);
            out.push(b':');
            write(*value, out);
            out.push(b',');
        }
        out.push(b'}');
    } else if value.is_array() {
        out.push(b'[');
        for item in value.items() {
            write(item, out);
            out.push(b',');
        }
        out.push(b']');
    } else if let Some(text) = value.as_str() {
        push_quoted(out, &text);
    } else {
        out.extend_from_slice(value.raw().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_properties_and_white_space_do_not_count() {
        assert!(same(r#"{"a":1.0,"b":["x",{}]}"#, r#"{ "b": ["\u0078",{} ], "a":1.0 }"#));
        assert!(!same(r#"{"a":["x","y"]}"#, r#"{"a":["y","x"]}"#));
        assert!(!same(r#"{"a":1.0}"#, r#"{"a":1.00}"#));
        assert!(!same(r#"{"a":"1"}"#, r#"{"a":1}"#));
        assert!(same("no JSON", "no JSON") && !same("no JSON", "none"));
    }
}
