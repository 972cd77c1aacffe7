//! What other rules add to a source's record: made anew in every run, and taken out where it is no longer due.

use std::collections::BTreeMap;

use crate::lake::json::{Edits, Tape, Value};
use crate::normalize::contributed::{add_extension, settle};
use crate::normalize::form::compact;
use crate::normalize::marks::{self, mark};
use crate::normalize::plan::Addition;
use crate::normalize::report::{Report, Rule};

/// Makes the additions of a record.
pub(super) fn make(root: Value<'_>, base: &str, additions: &[Addition], edits: &mut Edits, report: &mut Report) {
    if additions.is_empty() && !marks::may_stand_in(root) {
        return;
    }
    let mut wanted: BTreeMap<String, Vec<(Rule, String)>> = BTreeMap::new();
    for (key, value) in root.entries() {
        if value.items().any(|item| is_ours(item)) {
            wanted.insert(key.name().into_owned(), Vec::new());
        }
    }
    for addition in additions {
        let json = marked(&addition.json, base, addition.rule);
        wanted
            .entry(addition.element.to_owned())
            .or_default()
            .push((addition.rule, json));
    }
    for (element, items) in wanted {
        let json: Vec<&str> = items.iter().map(|(_, json)| json.as_str()).collect();
        if settle(root, &element, is_ours, &json, edits) {
            for (rule, _) in &items {
                report.of(*rule).changed += 1;
            }
        }
    }
}

/// Whether an item is an addition: `links` sees to what it contributes itself.
fn is_ours(item: Value<'_>) -> bool {
    marks::marked_by(item).is_some_and(|rule| rule != Rule::Knowledge.name() && rule != Rule::References.name())
}

/// An item with the mark of its rule. An extension with a value is marked in that.
fn marked(json: &str, base: &str, rule: Rule) -> String {
    let mut tape = Tape::new();
    let Ok(item) = tape.parse(json.as_bytes()) else {
        return json.to_owned();
    };
    if marks::is_marked(item) {
        return compact(item, &Edits::new());
    }
    let value = item.get("url").and_then(|_| {
        let mut entries = item.entries();
        entries.find(|(key, value)| key.raw().starts_with("value") && value.is_object())
    });
    let holder = value.map_or(item, |(_, value)| value);
    let mut edits = Edits::new();
    add_extension(holder, holder.get("extension"), &mark(base, rule), &mut edits);
    compact(item, &edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_marked_where_they_may_be() {
        let mark = r#"{"url":"b/StructureDefinition/normalized","valueCode":"InsurancePlan"}"#;
        for (json, expected) in [
            (
                r#"{"reference":"A/1"}"#,
                format!(r#"{{"reference":"A/1","extension":[{mark}]}}"#),
            ),
            (
                r#"{"extension":[1],"reference":"A/1"}"#,
                format!(r#"{{"extension":[1,{mark}],"reference":"A/1"}}"#),
            ),
            (
                r#"{"url":"u","valueReference":{"reference":"A/1"}}"#,
                format!(r#"{{"url":"u","valueReference":{{"reference":"A/1","extension":[{mark}]}}}}"#),
            ),
        ] {
            let found = marked(json, "b", Rule::InsurancePlan);
            assert_eq!(found, expected);
            assert_eq!(marked(&found, "b", Rule::InsurancePlan), expected);
        }
    }
}
