//! JSON that keeps its digits and order, read with `serde_json` rather than the program's own parser.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value; numbers, booleans and null as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    Text(String),
    Other(String),
}

struct Object(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Object;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl Json {
    pub(crate) fn parse(text: &str) -> Json {
        let text = text.trim();
        match text.as_bytes()[0] {
            b'{' => {
                let Object(entries) = serde_json::from_str(text).unwrap();
                Json::Object(
                    entries
                        .into_iter()
                        .map(|(name, value)| (name, Json::parse(value.get())))
                        .collect(),
                )
            }
            b'[' => {
                let items: Vec<Box<RawValue>> = serde_json::from_str(text).unwrap();
                Json::Array(items.iter().map(|item| Json::parse(item.get())).collect())
            }
            b'"' => Json::Text(serde_json::from_str(text).unwrap()),
            _ => Json::Other(text.to_owned()),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            other => std::slice::from_ref(other),
        }
    }

    /// Replaces the text of each `reference` property for which `change` returns another one.
    pub(crate) fn change_references(&mut self, change: &dyn Fn(&str) -> Option<String>) {
        match self {
            Json::Object(entries) => {
                for (name, value) in entries {
                    match value {
                        Json::Text(text) if name == "reference" => {
                            if let Some(changed) = change(text) {
                                *text = changed;
                            }
                        }
                        value => value.change_references(change),
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| item.change_references(change)),
            _ => {}
        }
    }

    /// Removes `versionId` and `lastUpdated` from `meta`, and an empty `meta` from the resource.
    pub(crate) fn take_commit_meta(&mut self) -> (Option<String>, Option<String>) {
        let mut taken = (None, None);
        if let Json::Object(entries) = self {
            for (_, meta) in entries.iter_mut().filter(|(name, _)| name == "meta") {
                taken = (
                    meta.text("versionId").map(str::to_owned),
                    meta.text("lastUpdated").map(str::to_owned),
                );
                if let Json::Object(meta) = meta {
                    meta.retain(|(name, _)| name != "versionId" && name != "lastUpdated");
                }
            }
            entries.retain(|(name, value)| name != "meta" || *value != Json::Object(Vec::new()));
        }
        taken
    }
}

/// The place of the first wanted value that is missing: properties, items of lists in order, and texts. The value may
/// have more.
pub(crate) fn lacks(value: &Value, wanted: &Value) -> Option<String> {
    match (value, wanted) {
        (Value::Object(map), Value::Object(wanted)) => wanted.iter().find_map(|(key, wanted)| {
            let missing = || Some(format!(".{key}"));
            let below = |value| lacks(value, wanted).map(|place| format!(".{key}{place}"));
            map.get(key).map_or_else(missing, below)
        }),
        (Value::Array(items), Value::Array(wanted)) => {
            let mut rest = items.iter();
            let missing = |item: &Value| !rest.any(|value| lacks(value, item).is_none());
            wanted.iter().position(missing).map(|at| format!("[{at}]"))
        }
        (value, wanted) => (value != wanted).then(String::new),
    }
}
