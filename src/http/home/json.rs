//! Reads parts of a JSON value for a page. A missing part is an empty string or an empty list.

use serde_json::{Map, Value};

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

pub(super) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members: Option<&Map<String, Value>> = value.as_object();
    members
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}
