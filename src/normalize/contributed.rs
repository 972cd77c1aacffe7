//! Writes contributions of other records into a record. The record is [bare](super::marks::bare): it has only its own
//! source's content. A contribution comes last in its object or list, so it has the same position in each run.

use crate::columns::json::{Edits, Value};

/// Adds items to a list of the root. Returns `false` if there are no items, or if the property is no list.
pub(super) fn add_items(root: Value<'_>, element: &str, items: &[impl AsRef<str>], edits: &mut Edits) -> bool {
    if items.is_empty() {
        return false;
    }
    let list = root.get(element);
    match list {
        Some(list) if !list.is_array() => return false,
        Some(list) if list.items().next().is_some() => {
            items.iter().for_each(|item| edits.push(list, item.as_ref()));
            return true;
        }
        // Remove an empty list and append a new one, so that the list has the same position in each run.
        Some(list) => edits.omit(list),
        None => {}
    }
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    edits.append(root, element, &format!("[{}]", items.join(",")));
    true
}

/// Adds an extension to an object. `extensions` is the object's list of extensions, if it has one.
pub(super) fn add_extension(object: Value<'_>, extensions: Option<Value<'_>>, json: &str, edits: &mut Edits) {
    match extensions.filter(Value::is_array) {
        Some(list) => edits.push(list, json),
        None => edits.append(object, "extension", &format!("[{json}]")),
    }
}
