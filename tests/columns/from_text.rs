//! The contents of a resource's JSON text as plain JSON, by R4's rules. Decimals become `#` and their digits, and
//! resources inside resources become their text.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tabularium::fhir::{Kind, Primitive, TypeId, facts};

pub(crate) fn resource(type_id: TypeId, text: &str) -> Value {
    let mut properties = properties(text);
    let id = properties
        .remove("id")
        .map(|id| serde_json::from_str::<Value>(id.get()).unwrap());
    let mut object = match object(type_id, &properties) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    };
    object.insert(
        "id".into(),
        id.filter(Value::is_string).unwrap_or_else(|| "given".into()),
    );
    Value::Object(object)
}

fn properties(text: &str) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(text).unwrap()
}

fn object(type_id: TypeId, properties: &BTreeMap<String, &RawValue>) -> Option<Value> {
    let facts = facts();
    let mut object = Map::new();
    for (name, raw) in properties {
        let plain = name.strip_prefix('_').unwrap_or(name);
        let Some(child) = facts.child(type_id, plain) else {
            continue;
        };
        let primitive = matches!(facts.get(child.type_id).kind, Kind::Primitive(_));
        if plain != name && !primitive {
            continue;
        }
        let one = |raw: &RawValue| {
            let text = raw.get();
            match facts.get(child.type_id).kind {
                _ if plain != name => text
                    .starts_with('{')
                    .then(|| self::object(child.type_id, &self::properties(text)))?,
                Kind::Primitive(primitive) => self::primitive(primitive, text),
                Kind::Resource => text.starts_with('{').then(|| text.into()),
                Kind::Complex | Kind::Backbone => text
                    .starts_with('{')
                    .then(|| self::object(child.type_id, &self::properties(text)))?,
            }
        };
        let value = if child.element.many {
            let items = serde_json::from_str::<Vec<&RawValue>>(raw.get()).unwrap_or_default();
            let items: Vec<Option<Value>> = items.into_iter().map(one).collect();
            let any = items.iter().any(Option::is_some);
            any.then(|| {
                items
                    .into_iter()
                    .map(Option::unwrap_or_default)
                    .collect::<Vec<_>>()
                    .into()
            })
        } else {
            one(raw)
        };
        if let Some(value) = value {
            object.insert(name.clone(), value);
        }
    }
    level(&mut object);
    (!object.is_empty()).then_some(Value::Object(object))
}

/// Makes the lists `x` and `_x` equally long if both exist.
fn level(object: &mut Map<String, Value>) {
    let names: Vec<String> = object.keys().filter(|name| name.starts_with('_')).cloned().collect();
    for name in names {
        let length = |object: &Map<String, Value>, name: &str| object.get(name)?.as_array().map(Vec::len);
        let both = length(object, &name).zip(length(object, &name[1..]));
        let Some((one, other)) = both else { continue };
        for name in [&name, &name[1..]] {
            if let Some(Value::Array(items)) = object.get_mut(name) {
                items.resize(one.max(other), Value::Null);
            }
        }
    }
}

fn primitive(primitive: Primitive, text: &str) -> Option<Value> {
    let number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    match primitive {
        Primitive::Boolean => text.parse::<bool>().ok().map(Value::from),
        Primitive::Integer | Primitive::PositiveInt | Primitive::UnsignedInt => {
            let plain = number && text != "-0" && text.bytes().skip(1).all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse::<i32>().ok()).flatten().map(Value::from)
        }
        Primitive::Decimal => number.then(|| format!("#{text}").into()),
        _ => serde_json::from_str::<String>(text).ok().map(Value::from),
    }
}
