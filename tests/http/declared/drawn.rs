//! Draws values for search parameters from resources, by simple steps along the parameter's path. Other paths are
//! skipped. It shares no code with the engine.

use serde_json::Value;
use tabularium::fhir::search_parameter::{SearchParameter, SearchParameters, SearchType};
use tabularium::fhir::{TypeId, facts};

/// A value of the parameter and the id of a resource that has it.
pub(in crate::http) fn value(
    parameter: &SearchParameter,
    resource_type: &str,
    records: &[Value],
) -> Option<(String, String)> {
    records.iter().find_map(|record| {
        let items = items(parameter, resource_type, record);
        let text = items.into_iter().find_map(|item| written(parameter, item))?;
        Some((text, record["id"].as_str()?.to_owned()))
    })
}

/// The relative references of the parameter in a resource.
pub(in crate::http) fn references(parameter: &SearchParameter, resource_type: &str, record: &Value) -> Vec<String> {
    let items = items(parameter, resource_type, record).into_iter();
    let texts = items.filter_map(|item| item["reference"].as_str());
    texts.filter(|text| leads(parameter, text)).map(str::to_owned).collect()
}

/// Whether a text is a relative reference to a target type of the parameter.
fn leads(parameter: &SearchParameter, text: &str) -> bool {
    let mut parts = text.split('/');
    let target = parts.next().and_then(|name| facts().lookup(name));
    let fits = target.is_some_and(|target| parameter.targets.is_empty() || parameter.targets.contains(&target));
    fits && parts.next().is_some() && parts.next().is_none()
}

/// The values at the parameter's paths.
fn items<'a>(parameter: &SearchParameter, resource_type: &str, record: &'a Value) -> Vec<&'a Value> {
    let expression = parameter.expression.as_deref().unwrap_or_default();
    let branches = expression.split(" | ").filter_map(|branch| path(branch, resource_type));
    let found = branches.flat_map(|steps| along(record, resource_type, &steps));
    // `occurrenceString` may look like a date but is not one.
    let is_text = |type_id: Option<TypeId>| type_id.is_some_and(|type_id| facts().get(type_id).name == "string");
    let fitting = found.filter(|(_, type_id)| parameter.search_type != SearchType::Date || !is_text(*type_id));
    fitting.map(|(value, _)| value).collect()
}

/// The property names of a branch for this type, if it is a simple path.
fn path(branch: &str, resource_type: &str) -> Option<Vec<String>> {
    let mut plain = branch.trim().trim_start_matches('(').trim_end_matches(')').to_owned();
    // `X.value as Quantity` and `X.value.as(Quantity)` are the property `valueQuantity`.
    for (before, after) in [(" as ", ""), (".as(", ")"), (".ofType(", ")")] {
        if let Some((head, rest)) = plain.split_once(before) {
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let (name, tail) = rest.split_at(end);
            let tail = tail.strip_prefix(after).unwrap_or(tail).trim_start_matches(')');
            let mut first = name.chars();
            let name = first.next()?.to_uppercase().chain(first).collect::<String>();
            plain = format!("{head}{name}{tail}");
        }
    }
    if let Some((head, _)) = plain.split_once(".where(resolve() is ") {
        plain = head.to_owned();
    }
    let mut steps = plain.split('.').map(str::to_owned);
    let first = steps.next()?;
    if first != resource_type && first != "Resource" && first != "DomainResource" {
        return None;
    }
    let steps: Vec<String> = steps.collect();
    steps
        .iter()
        .all(|step| step.chars().all(char::is_alphanumeric))
        .then_some(steps)
}

fn along<'a>(value: &'a Value, resource_type: &str, steps: &[String]) -> Vec<(&'a Value, Option<TypeId>)> {
    let mut found = vec![(value, facts().lookup(resource_type))];
    for step in steps {
        let mut next = Vec::new();
        for (value, type_id) in found {
            let (Some(object), Some(type_id)) = (value.as_object(), type_id) else {
                continue;
            };
            for (name, value) in object {
                let Some(child) = facts().child(type_id, name) else {
                    continue;
                };
                // `onset` may be `onsetDateTime` or another type of the choice.
                if name != step && !(child.element.choice && child.element.name == step) {
                    continue;
                }
                match value {
                    Value::Array(items) => next.extend(items.iter().map(|item| (item, Some(child.type_id)))),
                    one => next.push((one, Some(child.type_id))),
                }
            }
        }
        found = next;
    }
    found
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '\\' | ',' | '|' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// An item as the value of a query.
fn written(parameter: &SearchParameter, item: &Value) -> Option<String> {
    let coded = |coding: &Value| {
        let code = escaped(coding["code"].as_str()?);
        Some(match coding["system"].as_str() {
            Some(system) => format!("{}|{code}", escaped(system)),
            None => format!("|{code}"),
        })
    };
    let first = |names: &[&str]| {
        names.iter().find_map(|name| match &item[*name] {
            Value::String(text) => Some(escaped(text)),
            Value::Array(items) => items.first().and_then(Value::as_str).map(escaped),
            _ => None,
        })
    };
    match parameter.search_type {
        SearchType::Token => match item {
            Value::String(text) => Some(escaped(text)),
            Value::Bool(is) => Some(is.to_string()),
            item if item.get("coding").is_some() => item["coding"].as_array()?.iter().find_map(coded),
            item if item.get("code").is_some() => coded(item),
            item => item["value"].as_str().map(escaped),
        },
        SearchType::String => match item {
            Value::String(text) => Some(escaped(text)),
            _ => first(&[
                "family",
                "given",
                "city",
                "line",
                "state",
                "country",
                "postalCode",
                "text",
            ]),
        },
        SearchType::Reference => match item {
            Value::String(text) => Some(escaped(text)),
            item => item["reference"]
                .as_str()
                .filter(|text| leads(parameter, text))
                .map(escaped),
        },
        SearchType::Date => match item {
            Value::String(text) => Some(text.clone()),
            // A period matches a search for one of its ends.
            item => item["start"]
                .as_str()
                .filter(|_| item.get("end").is_some())
                .map(|text| format!("ge{text}")),
        },
        SearchType::Number => item.is_number().then(|| item.to_string()),
        SearchType::Quantity => {
            // Longer numbers lose digits when they are read as binary numbers.
            let number = item["value"].is_number().then(|| item["value"].to_string());
            let number = number.filter(|number| number.len() <= 15)?;
            let part = |name: &str| item[name].as_str().map(escaped).unwrap_or_default();
            Some(if item.get("code").is_some() && item.get("system").is_some() {
                format!("{number}|{}|{}", part("system"), part("code"))
            } else {
                number
            })
        }
        SearchType::Uri => item.as_str().map(escaped),
        SearchType::Composite | SearchType::Special => None,
    }
}

/// A plausible value for parameters of this kind.
pub(in crate::http) fn plausible(parameter: &SearchParameter, all: &SearchParameters) -> String {
    match parameter.search_type {
        // Some tokens are booleans.
        SearchType::Token => "true".to_owned(),
        SearchType::String => "a".to_owned(),
        SearchType::Reference => "an-id".to_owned(),
        SearchType::Date => "2020-05".to_owned(),
        SearchType::Number => "5.4".to_owned(),
        SearchType::Quantity => "5.4||mg".to_owned(),
        SearchType::Uri => "http://example.org/a".to_owned(),
        SearchType::Special if parameter.expression.is_none() => "word".to_owned(),
        SearchType::Special => "42.25|-71.04|10|km".to_owned(),
        SearchType::Composite => {
            let parts = parameter.components.iter().map(|component| {
                let component = all.by_url(&component.definition).expect("a component is defined");
                plausible(component, all)
            });
            parts.collect::<Vec<_>>().join("$")
        }
    }
}
