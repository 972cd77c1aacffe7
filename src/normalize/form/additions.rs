//! Writes the additions of other rules into a source's record.

use std::collections::BTreeMap;

use crate::columns::json::{Edits, Tape, Value};
use crate::normalize::additions::Addition;
use crate::normalize::compact::compact;
use crate::normalize::contributed::{add_extension, add_items};
use crate::normalize::marks::Base;
use crate::normalize::report::{Report, Rule};

/// Writes the additions of a record.
pub(super) fn make(root: Value<'_>, base: &Base<'_>, additions: &[Addition], edits: &mut Edits, report: &mut Report) {
    let mut wanted: BTreeMap<&str, Vec<(Rule, String)>> = BTreeMap::new();
    for addition in additions {
        let json = base.rebased(&addition.json);
        let item = (addition.rule, marked(&json, base, addition.rule));
        wanted.entry(addition.element).or_default().push(item);
    }
    for (element, items) in wanted {
        let json: Vec<&str> = items.iter().map(|(_, json)| json.as_str()).collect();
        if add_items(root, element, &json, edits) {
            items.iter().for_each(|(rule, _)| report.of(*rule).changed += 1);
        }
    }
}

/// Adds to an item the extension that marks it as added by a rule, and returns the item. If the item is itself an
/// extension whose value is an object, the marking extension is inside the value.
fn marked(json: &str, base: &Base<'_>, rule: Rule) -> String {
    let mut tape = Tape::new();
    let Ok(item) = tape.parse(json.as_bytes()) else {
        return json.to_owned();
    };
    let mark = base.mark(rule);
    let value = item.get("url").and_then(|_| {
        let mut entries = item.entries();
        entries.find(|(key, value)| key.raw().starts_with("value") && value.is_object())
    });
    let holder = value.map_or(item, |(_, value)| value);
    let extensions = holder.get("extension");
    let mut edits = Edits::new();
    let mut items = extensions.into_iter().flat_map(|list| list.items());
    if !items.any(|each| each.raw() == mark) {
        add_extension(holder, extensions, &mark, &mut edits);
    }
    compact(item, &edits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::Source;

    #[test]
    fn items_are_marked_where_they_may_be() {
        let source = Source {
            authorization: String::new(),
            endpoint: String::new(),
            fhir_base: String::new(),
            tag_system_base: "b".to_owned(),
            tags: Vec::new(),
        };
        let mut tape = Tape::new();
        let base = Base::new(tape.parse(b"{}").unwrap(), Some(&source));
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
            let found = marked(json, &base, Rule::InsurancePlan);
            assert_eq!(found, expected);
            assert_eq!(marked(&found, &base, Rule::InsurancePlan), expected);
        }
    }
}
