//! Validates a resource against the R4 facts: properties are defined, required elements are present, values have the
//! JSON form and the lexical form of their type, and references point to allowed types.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use tabularium::fhir::decimal::Decimal;
use tabularium::fhir::reference::{Reference, is_id};
use tabularium::fhir::temporal::{Temporal, TimeOfDay};
use tabularium::fhir::{Child, Element, Kind, Primitive, TypeId, facts};

/// The faults of a resource, as `path: complaint`.
pub(crate) fn complaints(resource: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    resource_at(resource, "", &mut complaints);
    complaints
}

fn resource_at(resource: &Value, path: &str, complaints: &mut Vec<String>) {
    let name = resource["resourceType"].as_str().unwrap_or_default();
    match (facts().lookup(name), resource.as_object()) {
        (Some(type_id), Some(object)) => object_at(object, type_id, &format!("{path}{name}"), complaints),
        _ => complaints.push(format!("{path}: no resource type {name:?}")),
    }
}

fn object_at(object: &Map<String, Value>, type_id: TypeId, path: &str, complaints: &mut Vec<String>) {
    let facts = facts();
    if object.is_empty() {
        complaints.push(format!("{path}: empty"));
    }
    // A value and its `_` companion count as one property.
    let mut given: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in object {
        let at = format!("{path}.{name}");
        let bare = name.strip_prefix('_').unwrap_or(name);
        if name == "resourceType" {
            continue;
        }
        match facts.child(type_id, bare) {
            None => complaints.push(format!("{at}: not defined")),
            Some(child) => {
                given.entry(child.element.name).or_default().insert(bare);
                property(child, name.starts_with('_'), value, &at, complaints);
            }
        }
    }
    for element in &facts.get(type_id).elements {
        let given = given.get(element.name).map_or(0, BTreeSet::len);
        if given < usize::from(element.min.min(1)) {
            complaints.push(format!("{path}.{}: required", element.name));
        }
        if element.choice && given > 1 {
            complaints.push(format!("{path}.{}[x]: more than one", element.name));
        }
    }
}

fn property(child: Child<'_>, companion: bool, value: &Value, path: &str, complaints: &mut Vec<String>) {
    let Some(items) = child.element.many.then(|| value.as_array()).flatten() else {
        if child.element.many || value.is_array() {
            complaints.push(format!("{path}: a list where none belongs, or none where one does"));
        } else {
            item(child, companion, value, path, complaints);
        }
        return;
    };
    if items.is_empty() {
        complaints.push(format!("{path}: empty"));
    }
    for value in items {
        if !(companion && value.is_null()) {
            item(child, companion, value, path, complaints);
        }
    }
}

fn item(child: Child<'_>, companion: bool, value: &Value, path: &str, complaints: &mut Vec<String>) {
    let facts = facts();
    match (facts.get(child.type_id).kind, value) {
        (Kind::Resource, _) => resource_at(value, &format!("{path}/"), complaints),
        (Kind::Primitive(_), Value::Object(object)) if companion => object_at(object, child.type_id, path, complaints),
        (Kind::Primitive(primitive), _) if !companion => {
            if !fits(primitive, value) {
                complaints.push(format!("{path}: {value} is no {primitive:?}"));
            }
        }
        (Kind::Complex | Kind::Backbone, Value::Object(object)) => {
            object_at(object, child.type_id, path, complaints);
            if let Some(text) = object.get("reference").and_then(Value::as_str) {
                target(child.element, text, path, complaints);
            }
        }
        _ => complaints.push(format!("{path}: wrong form")),
    }
}

fn target(element: &Element, text: &str, path: &str, complaints: &mut Vec<String>) {
    let Some(target) = Reference::parse(text).relative() else {
        return;
    };
    let type_id = facts().lookup(target.type_name());
    let allowed = type_id.is_some_and(|type_id| {
        element.targets.is_empty() || element.targets.iter().any(|target| facts().is_a(type_id, *target))
    });
    if !allowed {
        complaints.push(format!("{path}: may not refer to {text}"));
    }
}

fn fits(primitive: Primitive, value: &Value) -> bool {
    let text = value.as_str();
    match primitive {
        Primitive::Boolean => value.is_boolean(),
        Primitive::Integer => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Primitive::PositiveInt => value
            .as_i64()
            .is_some_and(|number| (1..=i64::from(i32::MAX)).contains(&number)),
        Primitive::UnsignedInt => value
            .as_i64()
            .is_some_and(|number| (0..=i64::from(i32::MAX)).contains(&number)),
        Primitive::Decimal => value.is_number() && Decimal::parse(&value.to_string()).is_ok(),
        Primitive::Date => text.is_some_and(|text| Temporal::date(text).is_ok()),
        Primitive::DateTime => text.is_some_and(|text| Temporal::date_time(text).is_ok()),
        Primitive::Instant => text.is_some_and(|text| Temporal::instant(text).is_ok()),
        Primitive::Time => text.is_some_and(|text| TimeOfDay::parse(text).is_ok()),
        Primitive::Id => text.is_some_and(is_id),
        Primitive::Code | Primitive::Uri | Primitive::Url | Primitive::Canonical | Primitive::Oid | Primitive::Uuid => {
            text.is_some_and(|text| !text.is_empty() && text.trim() == text)
        }
        Primitive::Base64Binary | Primitive::String | Primitive::Markdown | Primitive::Xhtml => {
            text.is_some_and(|text| !text.is_empty())
        }
    }
}
