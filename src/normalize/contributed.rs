//! Writing what other records contribute: lists whose contributed items are made anew.

use super::form::compact;
use crate::lake::json::{Edits, Value};

/// Makes the contributed items of a root's list be `wanted`, in that order behind the source's own. Says whether something changed.
pub(super) fn settle(
    root: Value<'_>,
    element: &str,
    is_ours: impl Fn(Value<'_>) -> bool,
    wanted: &[&str],
    edits: &mut Edits,
) -> bool {
    let list = root.get(element);
    let Some(list) = list else {
        if !wanted.is_empty() {
            edits.append(root, element, &format!("[{}]", wanted.join(",")));
        }
        return !wanted.is_empty();
    };
    if !list.is_array() {
        return false;
    }
    let ours: Vec<Value<'_>> = list.items().filter(|item| is_ours(*item)).collect();
    let is_same = ours.len() == wanted.len()
        && ours
            .iter()
            .zip(wanted)
            .all(|(item, wanted)| compact(*item, &Edits::new()) == *wanted);
    if is_same {
        return false;
    }
    if wanted.is_empty() && ours.len() == list.items().count() {
        edits.omit(list);
        return true;
    }
    for item in ours {
        edits.omit(item);
    }
    for json in wanted {
        edits.push(list, json);
    }
    true
}

/// Adds an extension to an object, whose list of extensions is given.
pub(super) fn add_extension(object: Value<'_>, extensions: Option<Value<'_>>, json: &str, edits: &mut Edits) {
    match extensions.filter(Value::is_array) {
        Some(list) => edits.push(list, json),
        None => edits.append(object, "extension", &format!("[{json}]")),
    }
}
