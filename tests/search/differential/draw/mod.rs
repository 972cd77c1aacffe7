//! Random searches from a seed, with values from the resources: whole, in part, or altered to match more, less or
//! nothing.

mod together;
mod vary;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::Value;

use super::definition::Definition;
use super::expression::{Item, relative};
use super::world::{Query, World};

/// The maximum number of steps of a chain.
pub(super) const DEPTH: usize = 2;

/// Generates searches.
pub(super) struct Draw<'w, 'a> {
    random: ChaCha8Rng,
    /// The prefix of all dates, numbers and quantities. `None` for a random one.
    prefix: Option<&'static str>,
    world: &'w World<'a>,
    types: Vec<&'w str>,
    /// For each type, the reference parameters that lead to it, with their types.
    referring: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl<'w, 'a> Draw<'w, 'a> {
    pub(super) fn new(world: &'w World<'a>, seed: u64) -> Draw<'w, 'a> {
        let mut types: Vec<&str> = world.types().map(|(resource_type, _)| resource_type).collect();
        // Half of all searches use the larger half of the types.
        let mut by_rows: Vec<(usize, &str)> = world
            .types()
            .map(|(resource_type, rows)| (rows, resource_type))
            .collect();
        by_rows.sort();
        types.extend(
            by_rows
                .iter()
                .rev()
                .take(by_rows.len() / 3)
                .flat_map(|(_, resource_type)| [*resource_type, *resource_type, *resource_type]),
        );
        let mut referring: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
        for (source, _) in world.types() {
            let references = world.definitions.own(source).filter(|of| of.kind == "reference");
            for definition in references {
                let values = world.values(source, &definition.code).unwrap();
                for name in values.iter().flatten().flat_map(|item| world.led_to(item.value)) {
                    let Some((resource_type, _)) = world.place(&name) else {
                        continue;
                    };
                    if definition.targets.is_empty() || definition.targets.iter().any(|target| target == resource_type)
                    {
                        let through = (source.to_owned(), definition.code.clone());
                        referring.entry(resource_type.to_owned()).or_default().insert(through);
                    }
                }
            }
        }
        Draw {
            random: ChaCha8Rng::seed_from_u64(seed),
            prefix: None,
            world,
            types,
            referring,
        }
    }

    pub(super) fn world(&self) -> &'w World<'a> {
        self.world
    }

    pub(in crate::search::differential) fn below(&mut self, count: usize) -> usize {
        self.random.next_u32() as usize % count.max(1)
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// The next search, and a resource that it probably matches.
    pub(super) fn query(&mut self) -> (Query, &'w str) {
        let types = self.types.clone();
        let resource_type = (*self.pick(&types)).to_owned();
        let world = self.world;
        let rows = world.rows(&resource_type);
        let meant = self.below(rows.len());
        let mut conditions = Vec::new();
        for _ in 0..=self.below(3).saturating_sub(self.below(2)) {
            let row = if self.chance(80) { meant } else { self.below(rows.len()) };
            conditions.extend(self.condition(&resource_type, row, 0));
        }
        let sort = if self.chance(45) {
            self.sort(&resource_type)
        } else {
            Vec::new()
        };
        let mut query = Query {
            resource_type,
            conditions,
            sort,
        };
        if self.chance(12) {
            self.widen(&mut query);
        }
        (query, &rows[meant].name)
    }

    /// Adds another type to the search, by parameters that both types have.
    fn widen(&mut self, query: &mut Query) {
        let types = self.types.clone();
        let other = (*self.pick(&types)).to_owned();
        if other == query.resource_type {
            return;
        }
        let world = self.world;
        let kind =
            |resource_type: &str, code: &str| world.definitions.get(resource_type, code).map(|of| of.kind.clone());
        let is_common = |code: &str| {
            kind(&query.resource_type, code).is_some() && kind(&query.resource_type, code) == kind(&other, code)
        };
        // A value for one type may not be valid for the other.
        let goes = |written: &str| match written.split([':', '.']).next().unwrap_or(written) {
            "_has" => true,
            code if is_common(code) => {
                let modifiers = [":text", ":of-type", ":identifier"];
                !written.contains('.') && !modifiers.iter().any(|modifier| written.ends_with(modifier))
            }
            _ => false,
        };
        let holds =
            |(written, value): &(String, String)| goes(written) && world.holds(&other, written, value, None).is_some();
        query.conditions.retain(holds);
        query.sort.retain(|(code, _)| is_common(code));
        query.resource_type = format!("{},{other}", query.resource_type);
    }

    fn sort(&mut self, resource_type: &str) -> Vec<(String, bool)> {
        let has_values = |code: &str| {
            let values = self.world.values(resource_type, code);
            values.is_some_and(|values| values.iter().any(|items| !items.is_empty()))
        };
        let ordered =
            |of: &&Rc<Definition>| !["composite", "special"].contains(&of.kind.as_str()) && has_values(&of.code);
        let own = self.world.definitions.own(resource_type).filter(ordered);
        let mut codes: Vec<String> = own.map(|of| of.code.clone()).collect();
        codes.extend(["_id", "_lastUpdated"].map(str::to_owned));
        let mut keys: Vec<(String, bool)> = Vec::new();
        for _ in 0..=self.below(3) {
            let code = self.pick(&codes).clone();
            if keys.iter().all(|(other, _)| *other != code) {
                let down = self.chance(50);
                keys.push((code, down));
            }
        }
        keys
    }

    /// A condition that a row of the type probably meets.
    pub(super) fn condition(&mut self, resource_type: &str, row: usize, depth: usize) -> Option<(String, String)> {
        match self.below(100) {
            0..14 if depth < DEPTH => self.chain(resource_type, row, depth),
            14..26 if depth < DEPTH => self.has(resource_type, row, depth),
            26..38 => self.common(resource_type, row),
            38..44 if depth == 0 => self.filter(resource_type, row),
            _ => self.own(resource_type, row),
        }
    }

    fn own(&mut self, resource_type: &str, row: usize) -> Option<(String, String)> {
        let all: Vec<Rc<Definition>> = self.world.definitions.own(resource_type).cloned().collect();
        if all.is_empty() {
            return self.common(resource_type, row);
        }
        // Parameters with a value in the row are tried first.
        for _ in 0..8 {
            let definition = self.pick(&all).clone();
            if !self.world.values(resource_type, &definition.code)?[row].is_empty() {
                return Some(self.asked(resource_type, &definition, row));
            }
        }
        let definition = self.pick(&all).clone();
        Some(self.asked(resource_type, &definition, row))
    }

    fn common(&mut self, resource_type: &str, row: usize) -> Option<(String, String)> {
        let code = *self.pick(&[
            "_id",
            "_lastUpdated",
            "_tag",
            "_profile",
            "_security",
            "_source",
            "_profile",
        ]);
        let definition = self.world.definitions.get(resource_type, code)?.clone();
        Some(self.asked(resource_type, &definition, row))
    }

    fn chain(&mut self, resource_type: &str, row: usize, depth: usize) -> Option<(String, String)> {
        let mut steps = Vec::new();
        for definition in self
            .world
            .definitions
            .own(resource_type)
            .filter(|of| of.kind == "reference")
        {
            let values = self.world.values(resource_type, &definition.code)?;
            for name in values[row].iter().flat_map(|item| self.world.led_to(item.value)) {
                if self.world.place(&name).is_some() {
                    steps.push((definition.clone(), name));
                }
            }
        }
        if steps.is_empty() {
            return None;
        }
        let (definition, name) = self.pick(&steps).clone();
        let (target, place) = self.world.place(&name)?;
        let (rest, value) = self.condition(target, place, depth + 1)?;
        // Without a type, a chain goes to all target types of its parameter. For other types the chain must name the
        // type.
        let plain = definition.targets.iter().any(|of| of == target) && self.chance(50);
        let code = &definition.code;
        Some(if plain {
            (format!("{code}.{rest}"), value)
        } else {
            (format!("{code}:{target}.{rest}"), value)
        })
    }

    fn has(&mut self, resource_type: &str, row: usize, depth: usize) -> Option<(String, String)> {
        let through: Vec<(String, String)> = self.referring.get(resource_type)?.iter().cloned().collect();
        let (source, code) = self.pick(&through).clone();
        let name = &self.world.rows(resource_type)[row].name;
        let values = self.world.values(&source, &code)?;
        let refers = |items: &Vec<Item<'_>>| items.iter().any(|item| self.world.led_to(item.value).contains(name));
        let row = values.iter().position(refers);
        let row = row.or_else(|| values.iter().position(|items| !items.is_empty()))?;
        let (rest, value) = self.condition(&source, row, depth + 1)?;
        Some((format!("_has:{source}:{code}:{rest}"), value))
    }

    /// A parameter with a modifier and values like those of a row.
    fn asked(&mut self, resource_type: &str, definition: &Definition, row: usize) -> (String, String) {
        let code = &definition.code;
        let values = self.world.values(resource_type, code).unwrap();
        let can_miss = definition.kind != "special";
        if can_miss && code != "_id" && (self.chance(5) || values.iter().all(Vec::is_empty) && self.chance(50)) {
            let missing = if self.chance(50) { "true" } else { "false" };
            return (format!("{code}:missing"), missing.to_owned());
        }
        let modifiers: &[&str] = match definition.kind.as_str() {
            _ if code == "_id" => &[""],
            "string" => &["", "", ":exact", ":contains"],
            "token" => &["", "", "", "", ":not", ":text", ":of-type"],
            "uri" => &["", "", ":below", ":above"],
            "reference" => &["", "", ":identifier", ":Type"],
            _ => &[""],
        };
        let mut modifier = (*self.pick(modifiers)).to_owned();
        let of_row: Vec<Item<'_>> = if values[row].is_empty() {
            values.iter().flatten().take(20).copied().collect()
        } else {
            values[row].clone()
        };
        let item = (!of_row.is_empty()).then(|| *self.pick(&of_row));
        let identifies = item.is_some_and(|item| item.value.get("identifier").is_some());
        let typed = item.is_some_and(|item| item.value.get("type").is_some() && item.value.get("value").is_some());
        let reads =
            item.is_some_and(|item| item.value.is_object()) && !["phone", "email", "telecom"].contains(&&**code);
        if modifier == ":text" && !reads {
            modifier.clear();
        }
        if modifier == ":identifier" && !identifies || modifier == ":of-type" && !typed {
            modifier.clear();
        }
        if modifier == ":Type" {
            let target = item.and_then(|item| relative(item.value));
            modifier = target.map_or(String::new(), |name| format!(":{}", name.split('/').next().unwrap()));
        }
        let mut alternatives = vec![self.value(resource_type, definition, &modifier, item)];
        // Long lists are looked up instead of compared one by one.
        let most = if self.chance(4) { 90 } else { 4 };
        while alternatives.len() < most && (most > 4 || self.chance(22)) {
            let row = self.below(values.len());
            let other = values[row].first().copied();
            alternatives.push(self.value(resource_type, definition, &modifier, other));
        }
        (format!("{code}{modifier}"), alternatives.join(","))
    }

    fn value(
        &mut self,
        resource_type: &str,
        definition: &Definition,
        modifier: &str,
        item: Option<Item<'_>>,
    ) -> String {
        let item = item.filter(|_| !self.chance(5));
        let drawn = match (definition.kind.as_str(), item) {
            ("composite", Some(item)) => return self.tuple(definition, item.value),
            ("composite", None) => {
                let kinds = definition.components.iter().map(|(kind, _)| absent(kind));
                return kinds.collect::<Vec<_>>().join("$");
            }
            (kind, Some(item)) if definition.code != "_id" => {
                self.of_kind(resource_type, &definition.code, kind, modifier, item.value)
            }
            (_, Some(item)) => item.value.as_str().map(str::to_owned),
            (_, None) => None,
        };
        let absent = match modifier {
            ":of-type" => "http://example.org|x|absent",
            _ => absent(&definition.kind),
        };
        drawn
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| absent.to_owned())
    }

    fn tuple(&mut self, definition: &Definition, part: &Value) -> String {
        let mut texts = Vec::new();
        for (kind, expression) in &definition.components {
            let items = expression.of(part, part);
            let drawn = if items.is_empty() {
                None
            } else {
                let item = *self.pick(&items);
                self.of_kind("", "", kind, "", item.value)
            };
            texts.push(drawn.unwrap_or_else(|| absent(kind).to_owned()));
        }
        texts.join("$")
    }
}

/// A value that few resources have, or none.
fn absent(kind: &str) -> &'static str {
    match kind {
        "date" => "1897-03",
        "number" => "123456.75",
        "quantity" => "gt12345678.75",
        "uri" => "http://example.org/absent",
        "special" => "0|0|1|km",
        // Some tokens are booleans, which have only two values.
        "token" => "true",
        _ => "absent",
    }
}
