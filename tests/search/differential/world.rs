//! All resources of a lake as JSON, and the matches of a search, found condition by condition and row by row.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::definition::{Definition, Definitions};
use super::expression::{Item, relative};
use super::values::{self, BOUND, Wanted, amount, fold, plain, split, time_of};

/// `Type/id` of the visible resources; `None` for all.
pub(super) type Seen<'s> = Option<&'s HashSet<String>>;

/// A resource and its `Type/id`.
pub(super) struct Row<'a> {
    pub(super) name: String,
    pub(super) resource: &'a Value,
}

/// A search.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// The type, or several separated by commas.
    pub(super) resource_type: String,
    /// Parameter names with modifiers, and values.
    pub(super) conditions: Vec<(String, String)>,
    /// Sort codes, and whether the order is descending.
    pub(super) sort: Vec<(String, bool)>,
}

impl Query {
    /// The search as in an address, with more parameters.
    pub(super) fn text(&self, more: &str) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        for (name, value) in &self.conditions {
            text.append_pair(name, value);
        }
        if !self.sort.is_empty() {
            let keys = self
                .sort
                .iter()
                .map(|(code, down)| format!("{}{code}", if *down { "-" } else { "" }));
            text.append_pair("_sort", &keys.collect::<Vec<_>>().join(","));
        }
        if self.resource_type.contains(',') {
            format!("?_type={}&{}&{more}", self.resource_type, text.finish())
        } else {
            format!("{}?{}&{more}", self.resource_type, text.finish())
        }
    }
}

type Values<'a> = Rc<Vec<Vec<Item<'a>>>>;

/// The resources by type.
pub(super) struct World<'a> {
    pub(super) definitions: &'a Definitions,
    rows: BTreeMap<String, Vec<Row<'a>>>,
    places: HashMap<String, usize>,
    /// Resources by their URL.
    urls: HashMap<String, Vec<String>>,
    values: RefCell<HashMap<(String, String), Values<'a>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Amount(i128),
    Text(String),
}

impl<'a> World<'a> {
    pub(super) fn new(definitions: &'a Definitions, resources: &'a [Value]) -> World<'a> {
        let mut rows: BTreeMap<String, Vec<Row<'a>>> = BTreeMap::new();
        let mut places = HashMap::new();
        let mut urls: HashMap<String, Vec<String>> = HashMap::new();
        for resource in resources {
            let resource_type = resource["resourceType"].as_str().unwrap();
            let name = format!("{resource_type}/{}", resource["id"].as_str().unwrap());
            let of_type = rows.entry(resource_type.to_owned()).or_default();
            places.insert(name.clone(), of_type.len());
            if let Some(url) = resource["url"]
                .as_str()
                .filter(|_| !["Device", "Subscription"].contains(&resource_type))
            {
                urls.entry(url.to_owned()).or_default().push(name.clone());
            }
            of_type.push(Row { name, resource });
        }
        World {
            definitions,
            rows,
            places,
            urls,
            values: RefCell::default(),
        }
    }

    pub(super) fn types(&self) -> impl Iterator<Item = (&str, usize)> {
        self.rows
            .iter()
            .map(|(resource_type, rows)| (resource_type.as_str(), rows.len()))
    }

    pub(super) fn rows(&self, resource_type: &str) -> &[Row<'a>] {
        self.rows.get(resource_type).map_or(&[], Vec::as_slice)
    }

    /// The type and the index of a resource.
    pub(super) fn place<'n>(&self, name: &'n str) -> Option<(&'n str, usize)> {
        Some((name.split('/').next()?, *self.places.get(name)?))
    }

    /// The values of a parameter for each row.
    pub(super) fn values(&self, resource_type: &str, code: &str) -> Option<Values<'a>> {
        let key = (resource_type.to_owned(), code.to_owned());
        if let Some(known) = self.values.borrow().get(&key) {
            return Some(known.clone());
        }
        let definition = self.definitions.get(resource_type, code)?;
        let rows = self.rows(resource_type).iter();
        let values: Vec<_> = rows
            .map(|row| definition.expression.of(row.resource, row.resource))
            .collect();
        let values = Rc::new(values);
        self.values.borrow_mut().insert(key, values.clone());
        Some(values)
    }

    /// The matches of a search, sorted if it asks for that.
    pub(super) fn matches(&self, query: &Query, seen: Seen<'_>) -> Vec<&str> {
        let of_types = query
            .resource_type
            .split(',')
            .map(|resource_type| self.matches_of(resource_type, query, seen));
        let mut all: Vec<_> = of_types.flatten().collect();
        all.sort_by(|(a, one), (b, other)| {
            let keys = query.sort.iter().zip(a.iter().zip(b));
            let by_key = keys.map(|((_, down), keys)| match keys {
                (Some(a), Some(b)) if *down => b.cmp(a),
                (Some(a), Some(b)) => a.cmp(b),
                // Rows without a value come last in both directions.
                (a, b) => b.is_some().cmp(&a.is_some()),
            });
            let first = by_key.reduce(Ordering::then).unwrap_or(Ordering::Equal);
            let id = |name: &str| name.split_once('/').map(|(_, id)| id.to_owned());
            first.then_with(|| id(one).cmp(&id(other)))
        });
        all.into_iter().map(|(_, name)| name).collect()
    }

    /// The matches of one type with their sort keys.
    fn matches_of(&self, resource_type: &str, query: &Query, seen: Seen<'_>) -> Vec<(Vec<Option<Key>>, &str)> {
        let rows = self.rows(resource_type);
        let mut left: Vec<usize> = (0..rows.len()).filter(|row| is_seen(seen, &rows[*row].name)).collect();
        for (name, value) in &query.conditions {
            let held = self.holds(resource_type, name, value, seen);
            let held = held.unwrap_or_else(|| panic!("{resource_type}?{name}={value}"));
            left.retain(|row| held[*row]);
        }
        let keys = query
            .sort
            .iter()
            .map(|(code, down)| self.keys(resource_type, code, *down));
        let keys: Vec<Vec<Option<Key>>> = keys.collect();
        let keyed = left.into_iter().map(|row| {
            let of_row = keys.iter().map(|keys| keys[row].clone()).collect();
            (of_row, rows[row].name.as_str())
        });
        keyed.collect()
    }

    /// For each row whether a condition holds; `None` if the type does not have the parameter, or the parameter does
    /// not support the value.
    pub(super) fn holds(&self, resource_type: &str, written: &str, value: &str, seen: Seen<'_>) -> Option<Vec<bool>> {
        if let Some(path) = written.strip_prefix("_has:") {
            let parts: Vec<&str> = path.splitn(3, ':').collect();
            let (source, reference, rest) = (parts[0], parts[1], parts[2]);
            let held = self.holds(source, rest, value, seen)?;
            let mut referred = HashSet::new();
            for (row, items) in self.values(source, reference)?.iter().enumerate() {
                if held[row] && is_seen(seen, &self.rows(source)[row].name) {
                    referred.extend(items.iter().flat_map(|item| self.led_to(item.value)));
                }
            }
            return Some(
                self.rows(resource_type)
                    .iter()
                    .map(|row| referred.contains(&row.name))
                    .collect(),
            );
        }
        if written == "_filter" {
            return self.filtered(resource_type, value, seen);
        }
        if let Some((first, rest)) = written.split_once('.') {
            return self.chain(resource_type, first, rest, value, seen);
        }
        let (code, modifier) = match written.split_once(':') {
            Some((code, modifier)) => (code, Some(modifier)),
            None => (written, None),
        };
        let definition = self.definitions.get(resource_type, code)?.clone();
        let values = self.values(resource_type, code)?;
        if modifier == Some("missing") && definition.kind == "composite" {
            // A tuple without a value for a component does not count.
            let rows = self.rows(resource_type).iter().zip(values.iter());
            let held = rows.map(|(row, items)| {
                let whole = |item: &Item<'a>| {
                    let mut parts = definition.components.iter();
                    parts.all(|(_, expression)| !expression.of(item.value, row.resource).is_empty())
                };
                items.iter().any(whole) == (value == "false")
            });
            return Some(held.collect());
        }
        if modifier == Some("missing") {
            return Some(
                values
                    .iter()
                    .map(|items| items.is_empty() == (value == "true"))
                    .collect(),
            );
        }
        let alternatives = split(value, ',');
        if code == "_id" {
            let wanted: Vec<String> = alternatives.iter().map(|id| plain(id)).collect();
            let is = |item: &Item<'_>| wanted.iter().any(|id| item.value == id.as_str());
            return Some(values.iter().map(|items| items.iter().any(is)).collect());
        }
        if definition.kind == "composite" {
            return self.tuples(resource_type, &definition, &values, &alternatives);
        }
        let bound = BOUND
            .iter()
            .find(|(of, element, _)| *of == resource_type && *element == code);
        let wanted = alternatives.iter().map(|text| Wanted {
            kind: &definition.kind,
            modifier,
            text,
            bound: bound.map(|(_, _, system)| *system),
            is_family: definition.code == "family",
        });
        let wanted: Vec<Wanted<'_>> = wanted.collect();
        if !wanted
            .iter()
            .all(|wanted| values::is_valid(wanted.kind, wanted.modifier, wanted.text))
        {
            return None;
        }
        let not = modifier == Some("not");
        if modifier == Some("is-ne") {
            // One value must differ.
            let differs = |item: &Item<'_>| wanted.iter().all(|wanted| wanted.holds(item) != Some(true));
            return Some(values.iter().map(|items| items.iter().any(differs)).collect());
        }
        let any = |items: &Vec<Item<'_>>| {
            let mut pairs = items
                .iter()
                .flat_map(|item| wanted.iter().map(move |wanted| (item, wanted)));
            pairs.any(|(item, wanted)| wanted.holds(item) == Some(true)) != not
        };
        Some(values.iter().map(any).collect())
    }

    fn chain(&self, resource_type: &str, first: &str, rest: &str, value: &str, seen: Seen<'_>) -> Option<Vec<bool>> {
        let (code, only) = match first.split_once(':') {
            Some((code, only)) => (code, Some(only)),
            None => (first, None),
        };
        let definition = self.definitions.get(resource_type, code)?;
        let targets: Vec<String> = match only {
            Some(only) => vec![only.to_owned()],
            None if definition.targets.is_empty() => self.rows.keys().cloned().collect(),
            None => definition.targets.clone(),
        };
        let mut meant: HashSet<&str> = HashSet::new();
        let mut known = false;
        for target in &targets {
            let Some(held) = self.holds(target, rest, value, seen) else {
                continue;
            };
            known = true;
            let rows = self.rows(target).iter().zip(held);
            let held = rows.filter(|(row, held)| *held && is_seen(seen, &row.name));
            meant.extend(held.map(|(row, _)| row.name.as_str()));
        }
        let values = self.values(resource_type, code)?;
        let leads = |row: &Row<'a>, item: &Item<'_>| {
            let inside = || {
                let mut inside = targets
                    .iter()
                    .map(|target| self.holds_inside(row, item, target, rest, value));
                inside.any(|held| held == Some(true))
            };
            self.led_to(item.value).iter().any(|name| meant.contains(name.as_str())) || inside()
        };
        let rows = self.rows(resource_type).iter().zip(values.iter());
        known.then(|| {
            rows.map(|(row, items)| items.iter().any(|item| leads(row, item)))
                .collect()
        })
    }

    /// Whether a condition holds for the contained resource of a type that a reference points to.
    fn holds_inside(&self, row: &Row<'a>, item: &Item<'_>, target: &str, rest: &str, value: &str) -> Option<bool> {
        let id = item.value.get("reference")?.as_str()?.strip_prefix('#')?;
        let mut contained = row.resource.get("contained")?.as_array()?.iter();
        let inner = contained.find(|inner| inner["id"] == id && inner["resourceType"] == target)?;
        if rest.starts_with("_has:") {
            return Some(false);
        }
        let alone: &'static [Value] = vec![inner.clone()].leak();
        Some(World::new(self.definitions, alone).holds(target, rest, value, None)?[0])
    }

    /// `Type/id` of the existing targets of a reference or a canonical.
    pub(super) fn led_to(&self, value: &Value) -> Vec<String> {
        let Some(canonical) = value.as_str() else {
            return relative(value).into_iter().collect();
        };
        let (url, version) = match canonical.split_once('|') {
            Some((url, version)) => (url, Some(version)),
            None => (canonical, None),
        };
        if self.places.contains_key(url) {
            return vec![url.to_owned()];
        }
        let of_version = |resource: &Value| version.is_none_or(|version| resource["version"] == version);
        let known = self.urls.get(url).into_iter().flatten();
        let known = known.filter(|name| {
            let (resource_type, place) = self.place(name).unwrap();
            of_version(self.rows(resource_type)[place].resource)
        });
        known.cloned().collect()
    }

    fn tuples(
        &self,
        resource_type: &str,
        definition: &Definition,
        values: &Values<'a>,
        alternatives: &[String],
    ) -> Option<Vec<bool>> {
        let alternatives: Vec<Vec<String>> = alternatives.iter().map(|text| split(text, '$')).collect();
        let rows = self.rows(resource_type).iter().zip(values.iter());
        let held = rows.map(|(row, items)| {
            let tuple = |item: &Item<'a>, texts: &Vec<String>| {
                let mut parts = definition.components.iter().zip(texts);
                parts.all(|((kind, expression), text)| {
                    let wanted = Wanted {
                        kind,
                        modifier: None,
                        text,
                        bound: None,
                        is_family: false,
                    };
                    let of = expression.of(item.value, row.resource);
                    of.iter().any(|item| wanted.holds(item) == Some(true))
                })
            };
            items
                .iter()
                .any(|item| alternatives.iter().any(|texts| tuple(item, texts)))
        });
        Some(held.collect())
    }

    /// The sort key of each row: of several values the lowest, or the highest if descending.
    fn keys(&self, resource_type: &str, code: &str, down: bool) -> Vec<Option<Key>> {
        let kind = self.definitions.get(resource_type, code).unwrap().kind.clone();
        let key = |item: &Item<'_>| match kind.as_str() {
            "date" if item.type_name == Some("String") => None,
            "date" => time_of(item.value).map(|span| Key::Amount(i128::from(if down { span.1 } else { span.0 }))),
            "number" | "quantity" => amount(item.value, down).map(Key::Amount),
            kind => text_of(kind, item.value).map(Key::Text),
        };
        let best = |items: &Vec<Item<'_>>| {
            let keys = items.iter().filter_map(key);
            if down { keys.max() } else { keys.min() }
        };
        self.values(resource_type, code).unwrap().iter().map(best).collect()
    }
}

fn is_seen(seen: Seen<'_>, name: &str) -> bool {
    seen.is_none_or(|seen| seen.contains(name))
}

/// The text by which a value is sorted.
fn text_of(kind: &str, value: &Value) -> Option<String> {
    let child = |name: &str| value.get(name)?.as_str().map(str::to_owned);
    match value {
        Value::String(text) if kind == "string" => Some(fold(text)),
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        _ if kind == "reference" => relative(value).or_else(|| child("reference")),
        _ if kind == "string" => {
            // A name is sorted by its family, an address by its country, and so on.
            let names = [
                "family",
                "given",
                "country",
                "state",
                "city",
                "line",
                "postalCode",
                "text",
            ];
            let texts = names
                .iter()
                .filter_map(|name| value.get(*name))
                .flat_map(|value| match value {
                    Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
                    value => value.as_str().into_iter().collect::<Vec<_>>(),
                });
            let texts: String = texts.map(|text| fold(text) + "\u{1}").collect();
            Some(texts).filter(|texts| !texts.is_empty())
        }
        _ => match value.get("coding") {
            Some(codings) => {
                let mut codings = codings.as_array()?.iter();
                codings.find_map(|coding| coding.get("code")?.as_str().map(str::to_owned))
            }
            None if value.get("value").is_some() => child("value"),
            None => child("code"),
        },
    }
}
