//! The subset of FHIRPath in search parameters, evaluated over JSON: paths, `|`, `as`, `where` with an equality or with
//! `resolve() is`, an index, and the one `deceased` that is a condition.

use serde_json::Value;

/// Types that can end a choice element's name.
const CHOICES: [&str; 36] = [
    "Base64Binary",
    "Boolean",
    "Canonical",
    "Code",
    "Date",
    "DateTime",
    "Decimal",
    "Id",
    "Instant",
    "Integer",
    "Markdown",
    "Oid",
    "PositiveInt",
    "String",
    "Time",
    "UnsignedInt",
    "Uri",
    "Url",
    "Uuid",
    "Address",
    "Age",
    "Annotation",
    "Attachment",
    "CodeableConcept",
    "Coding",
    "ContactPoint",
    "Duration",
    "HumanName",
    "Identifier",
    "Money",
    "Period",
    "Quantity",
    "Range",
    "Ratio",
    "Reference",
    "Timing",
];
const CHOICES_TOO: [&str; 2] = ["SampledData", "Expression"];

/// A value in a resource, with its type if the property's name contains it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) value: &'a Value,
    pub(super) type_name: Option<&'static str>,
}

/// An expression: a union of paths.
#[derive(Debug)]
pub(super) struct Expression {
    paths: Vec<Vec<Step>>,
    deceased: bool,
}

#[derive(Debug)]
enum Step {
    /// The resources of this type; `Resource` and `DomainResource` mean all.
    Of(String),
    /// Starts at the resource.
    Root,
    Child(String),
    As(String),
    PointingTo(String),
    /// Keeps items that have this text at this path.
    Having(Vec<String>, String),
    At(usize),
}

impl Expression {
    pub(super) fn parse(text: &str) -> Expression {
        if text == "Patient.deceased.exists() and Patient.deceased != false" {
            return Expression {
                paths: Vec::new(),
                deceased: true,
            };
        }
        let paths = outside(text, '|').into_iter().map(path).collect();
        Expression { paths, deceased: false }
    }

    /// The results for a part of a resource.
    pub(super) fn of<'a>(&self, part: &'a Value, root: &'a Value) -> Vec<Item<'a>> {
        const TRUE: &Value = &Value::Bool(true);
        const FALSE: &Value = &Value::Bool(false);
        if self.deceased {
            let dead = root["deceasedBoolean"] == true || root.get("deceasedDateTime").is_some();
            let value = if dead { TRUE } else { FALSE };
            return vec![Item { value, type_name: None }];
        }
        let mut found: Vec<Item<'a>> = Vec::new();
        for path in &self.paths {
            let mut items = vec![Item {
                value: part,
                type_name: None,
            }];
            for step in path {
                items = step.from(items, root);
            }
            // `|` removes duplicates: two paths may reach the same place in the resource.
            for item in items {
                if !found.iter().any(|other| std::ptr::eq(other.value, item.value)) {
                    found.push(item);
                }
            }
        }
        found
    }
}

/// Splits a text at separators outside of parentheses and quotation marks.
fn outside(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            c if c == separator && depth == 0 && !quoted => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

fn path(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (at, part) in outside(text, '.').into_iter().enumerate() {
        let argument = |name: &str| {
            part.strip_prefix(name)?
                .strip_prefix('(')?
                .strip_suffix(')')
                .map(str::trim)
        };
        if let Some(inner) = part.strip_prefix('(') {
            let inner = inner.strip_suffix(')').unwrap();
            match inner.split_once(" as ") {
                Some((inner, type_name)) => {
                    steps.extend(path(inner));
                    steps.push(Step::As(type_name.trim().to_owned()));
                }
                None => steps.extend(path(inner)),
            }
        } else if let Some(type_name) = argument("as").or_else(|| argument("ofType")) {
            steps.push(Step::As(type_name.to_owned()));
        } else if let Some(condition) = argument("where") {
            steps.push(match condition.strip_prefix("resolve() is ") {
                Some(type_name) => Step::PointingTo(type_name.trim().to_owned()),
                None => {
                    let (left, right) = condition.split_once('=').unwrap();
                    let right = right.trim().trim_matches('\'');
                    Step::Having(left.trim().split('.').map(str::to_owned).collect(), right.to_owned())
                }
            });
        } else if part == "%resource" {
            steps.push(Step::Root);
        } else if let Some((name, index)) = part.split_once('[') {
            steps.push(Step::Child(name.to_owned()));
            steps.push(Step::At(index.trim_end_matches(']').parse().unwrap()));
        } else {
            assert!(!part.contains(['(', ' ']), "{text}: {part}");
            let of = at == 0 && part.starts_with(char::is_uppercase);
            steps.push(if of { Step::Of } else { Step::Child }(part.to_owned()));
        }
    }
    steps
}

impl Step {
    fn from<'a>(&self, items: Vec<Item<'a>>, root: &'a Value) -> Vec<Item<'a>> {
        match self {
            Step::Root => vec![Item {
                value: root,
                type_name: None,
            }],
            Step::Of(type_name) => {
                let all = ["Resource", "DomainResource"].contains(&type_name.as_str());
                items
                    .into_iter()
                    .filter(|item| all || item.value["resourceType"] == **type_name)
                    .collect()
            }
            Step::Child(name) => items.into_iter().flat_map(|item| children(item.value, name)).collect(),
            Step::As(type_name) => {
                let is = |item: &Item<'_>| item.type_name.is_none_or(|of| of.eq_ignore_ascii_case(type_name));
                items.into_iter().filter(is).collect()
            }
            Step::PointingTo(type_name) => items
                .into_iter()
                .filter(|item| pointed(item.value, root).as_deref() == Some(type_name))
                .collect(),
            Step::Having(path, text) => {
                let has = |item: &Item<'_>| {
                    let mut found = vec![*item];
                    for name in path {
                        found = found.into_iter().flat_map(|item| children(item.value, name)).collect();
                    }
                    found.iter().any(|item| item.value == text.as_str())
                };
                items.into_iter().filter(has).collect()
            }
            Step::At(index) => items.into_iter().skip(*index).take(1).collect(),
        }
    }
}

fn children<'a>(value: &'a Value, name: &str) -> Vec<Item<'a>> {
    let Some(object) = value.as_object() else {
        return Vec::new();
    };
    let found = object.get(name).map(|child| (child, None)).or_else(|| {
        object.iter().find_map(|(property, child)| {
            let rest = property.strip_prefix(name)?;
            let type_name = CHOICES
                .iter()
                .chain(&CHOICES_TOO)
                .find(|type_name| **type_name == rest)?;
            // `subscriberId` is not a choice of `subscriber`: only `value` can have the type id.
            let is_choice = rest != "Id" || name == "value";
            is_choice.then_some(())?;
            Some((child, Some(*type_name)))
        })
    });
    match found {
        None | Some((Value::Null, _)) => Vec::new(),
        Some((Value::Array(items), type_name)) => {
            let items = items.iter().filter(|item| !item.is_null());
            items.map(|value| Item { value, type_name }).collect()
        }
        Some((value, type_name)) => vec![Item { value, type_name }],
    }
}

/// The type of a reference's target, if the reference shows it.
fn pointed(reference: &Value, root: &Value) -> Option<String> {
    let text = reference["reference"].as_str().unwrap_or_default();
    if let Some(id) = text.strip_prefix('#') {
        let contained = root["contained"].as_array()?;
        let target = contained.iter().find(|resource| resource["id"] == id)?;
        return target["resourceType"].as_str().map(str::to_owned);
    }
    let segments: Vec<&str> = text.split('/').collect();
    let segments = match segments.as_slice() {
        [before @ .., "_history", _] => before,
        all => all,
    };
    match segments {
        [.., resource_type, _] if resource_type.starts_with(char::is_uppercase) => Some((*resource_type).to_owned()),
        _ => reference["type"].as_str().map(str::to_owned),
    }
}

/// The `Type/id` of a relative reference.
pub(super) fn relative(reference: &Value) -> Option<String> {
    let text = reference["reference"].as_str()?;
    let segments: Vec<&str> = text.split('/').collect();
    match segments.as_slice() {
        [resource_type, id] | [resource_type, id, "_history", _]
            if resource_type.starts_with(char::is_uppercase) && !id.is_empty() =>
        {
            Some(format!("{resource_type}/{id}"))
        }
        _ => None,
    }
}
