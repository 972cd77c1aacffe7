//! Random `_filter` expressions, and their results for each row.

use serde_json::Value;

use super::draw::Draw;
use super::values::{escaped, plain, split, split_prefix};
use super::world::{Seen, World};

/// The maximum number of tests in an expression.
const TESTS: usize = 4;

impl Draw<'_, '_> {
    /// A filter that a row of the type probably meets.
    pub(super) fn filter(&mut self, resource_type: &str, row: usize) -> Option<(String, String)> {
        let mut text = self.test(resource_type, row)?;
        for _ in 1..1 + self.below(TESTS) {
            let other = self.test(resource_type, row)?;
            let word = *self.pick(&[" and ", " or ", " AND "]);
            text = match self.below(4) {
                0 => format!("({text}){word}{other}"),
                1 => format!("{other}{word}({text})"),
                2 => format!("not ({text}){word}{other}"),
                _ => format!("{text}{word}{other}"),
            };
        }
        Some(("_filter".to_owned(), text))
    }

    fn test(&mut self, resource_type: &str, row: usize) -> Option<String> {
        // A condition that filters do not support is drawn again.
        for _ in 0..12 {
            let Some((written, value)) = self.condition(resource_type, row, super::draw::DEPTH - 1) else {
                continue;
            };
            let value = split(&value, ',').remove(0);
            if let Some(test) = self.as_test(resource_type, &written, &value) {
                return Some(test);
            }
        }
        None
    }

    fn as_test(&mut self, resource_type: &str, written: &str, value: &str) -> Option<String> {
        if written.starts_with('_') {
            return None;
        }
        if let Some(path) = written.strip_suffix(":missing") {
            let present = value == "false";
            return Some(format!("{path} pr {present}"));
        }
        let kind = self.world().kind(resource_type, written)?;
        let (operator, value) = match kind.as_str() {
            "date" | "number" | "quantity" => {
                let (prefix, rest) = split_prefix(value);
                (prefix, rest.to_owned())
            }
            "string" => {
                let operators = ["eq", "ne", "co", "sw", "ew", "gt", "lt", "ge", "le"];
                (*self.pick(&operators), plain(value))
            }
            "token" | "uri" => (*self.pick(&["eq", "eq", "ne"]), value.to_owned()),
            "reference" => (*self.pick(&["eq", "re", "ne"]), value.to_owned()),
            _ => return None,
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-:/|.".contains(c);
        let bare = !value.is_empty() && value.chars().all(is_word) && self.chance(60);
        let value = if bare { value } else { Value::String(value).to_string() };
        Some(format!("{written} {operator} {value}"))
    }
}

impl World<'_> {
    /// For each row whether a filter holds; `None` if the filter is invalid.
    pub(super) fn filtered(&self, resource_type: &str, text: &str, seen: Seen<'_>) -> Option<Vec<bool>> {
        let mut reading = Reading {
            world: self,
            resource_type,
            seen,
            rest: text,
        };
        let held = reading.any()?;
        reading.rest.is_empty().then_some(held)
    }

    /// The kind of the parameter at the end of a chain; `None` if a modifier follows.
    fn kind(&self, resource_type: &str, written: &str) -> Option<String> {
        let (resource_type, code) = match written.rsplit_once('.') {
            Some((chain, code)) => (chain.rsplit_once(':')?.1, code),
            None => (resource_type, written),
        };
        let of_one_type = written.matches('.').count() <= 1;
        of_one_type.then(|| self.definitions.get(resource_type, code).map(|of| of.kind.clone()))?
    }
}

struct Reading<'t, 'a> {
    world: &'t World<'a>,
    resource_type: &'t str,
    seen: Seen<'t>,
    rest: &'t str,
}

impl Reading<'_, '_> {
    /// Evaluates the parts from left to right, with any operators.
    fn any(&mut self) -> Option<Vec<bool>> {
        let mut held = self.one()?;
        loop {
            let is_and = match self.rest.get(..4).map(str::to_lowercase).as_deref() {
                Some(" and") => true,
                Some(" or ") => false,
                _ => return Some(held),
            };
            self.rest = self.rest[if is_and { 4 } else { 3 }..].trim_start();
            for (row, other) in held.iter_mut().zip(self.one()?) {
                *row = if is_and { *row && other } else { *row || other };
            }
        }
    }

    fn one(&mut self) -> Option<Vec<bool>> {
        if let Some(rest) = self.rest.strip_prefix("not (") {
            self.rest = rest;
            let held = self.closed()?;
            return Some(held.into_iter().map(|held| !held).collect());
        }
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            return self.closed();
        }
        let (path, rest) = self.rest.split_once(' ')?;
        let (operator, rest) = rest.split_once(' ')?;
        let value: String;
        if rest.starts_with('"') {
            let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            value = strings.next()?.ok()?;
            self.rest = &rest[strings.byte_offset()..];
        } else {
            let end = rest.find([' ', ')']).unwrap_or(rest.len());
            value = rest[..end].to_owned();
            self.rest = &rest[end..];
        }
        self.test(path, operator, &value)
    }

    fn closed(&mut self) -> Option<Vec<bool>> {
        let held = self.any()?;
        self.rest = self.rest.strip_prefix(')')?;
        Some(held)
    }

    fn test(&self, path: &str, operator: &str, value: &str) -> Option<Vec<bool>> {
        let kind = self.world.kind(self.resource_type, path);
        let (written, value) = match (kind.as_deref(), operator) {
            (_, "pr") => (format!("{path}:missing"), (value == "false").to_string()),
            (Some("date" | "number" | "quantity"), prefix) => (path.to_owned(), format!("{prefix}{value}")),
            (Some("string"), "co") => (format!("{path}:contains"), escaped(value)),
            (Some("string"), operator) => (format!("{path}:is-{operator}"), escaped(value)),
            (_, "ne") => (format!("{path}:is-ne"), value.to_owned()),
            _ => (path.to_owned(), value.to_owned()),
        };
        self.world.holds(self.resource_type, &written, &value, self.seen)
    }
}
