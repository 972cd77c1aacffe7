//! Narrower searches, for sources that refuse to search all of a type. This file decides which parameters they use, in
//! which order they are tried, and whether their values reach all records.

use std::collections::BTreeSet;

use serde_json::Value;

use super::filters::{FILTERS, Filter};
use crate::sync::client::Statement;
use crate::sync::jobs::plan::permits_reading;

/// The maximum number of searches for a combination of two parameters.
const LARGEST: usize = 64;

/// Parameters that a refusal may mention and that do not narrow a search.
const OTHERS: &[&str] = &["_count", "_lastupdated", "_revinclude", "patient"];

/// A set of searches that replaces one search for all records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Narrower {
    /// The parameters in words, such as `category`.
    pub(super) by: String,
    /// What each search adds to the query, such as `category=laboratory`.
    pub(super) searches: Vec<String>,
    /// Whether the searches reach all records.
    pub(super) reaches_all: bool,
}

/// Returns the sets of searches to try instead of a refused one. The first set has the queries of granular scopes. Then
/// come sets for parameters that the refusal mentions, for combinations of parameters in the source's statement, and
/// for the type's parameters in `FILTERS`.
pub(super) fn narrower(
    resource_type: &str,
    scope: Option<&str>,
    said: &str,
    statement: Option<&Statement>,
) -> Vec<Narrower> {
    let known: Vec<&Filter> = FILTERS
        .iter()
        .filter(|filter| filter.resource_type == resource_type)
        .collect();
    let mut found: Vec<Narrower> = Vec::new();
    let mut add = |one: Narrower| {
        if !one.searches.is_empty() && !found.iter().any(|other| other.by == one.by) {
            found.push(one);
        }
    };
    let granted = of_scope(scope.unwrap_or_default(), resource_type);
    add(Narrower {
        by: "the granted scopes".to_owned(),
        searches: granted,
        reaches_all: true,
    });
    let words: Vec<String> = words(said);
    let named: Vec<&Filter> = words
        .iter()
        .filter_map(|word| known.iter().find(|filter| filter.parameter == word))
        .copied()
        .collect();
    for filter in &named {
        add(alone(filter));
    }
    if let [one, other, ..] = named.as_slice()
        && one.parameter != other.parameter
    {
        add(together(one, other));
    }
    let combinations = statement
        .and_then(|statement| statement.types.get(resource_type))
        .map_or(&[] as &[Vec<String>], |served| &served.combinations);
    for combination in combinations {
        let of = |name: &String| known.iter().find(|filter| filter.parameter == name).copied();
        let others = combination.iter().filter(|name| *name != "patient");
        match others.map(of).collect::<Option<Vec<&Filter>>>().as_deref() {
            Some([one]) => add(alone(one)),
            Some([one, other]) => add(together(one, other)),
            _ => {}
        }
    }
    for filter in known {
        add(alone(filter));
    }
    found
}

/// Whether the text of a refusal mentions a parameter that can narrow the type.
pub(super) fn names_filter(resource_type: &str, said: &str) -> bool {
    let words = words(said);
    let mut known = FILTERS.iter().filter(|filter| filter.resource_type == resource_type);
    known.any(|filter| words.iter().any(|word| word == filter.parameter))
}

/// Returns the search parameters, of any type, that the text of a refusal mentions.
pub(super) fn named(said: &str) -> BTreeSet<&'static str> {
    let words = words(said);
    let known = FILTERS
        .iter()
        .map(|filter| filter.parameter)
        .chain(OTHERS.iter().copied());
    known.filter(|known| words.iter().any(|word| word == known)).collect()
}

/// Returns the text of a refusal: all strings in the JSON, except those in `code`, `severity`, `system`, `resourceType`
/// and `id`. If the body is not JSON, returns all of it.
pub(super) fn text_of(body: &[u8]) -> String {
    let Ok(json) = serde_json::from_slice::<Value>(body) else {
        return String::from_utf8_lossy(body).into_owned();
    };
    let mut text = String::new();
    gather(&json, &mut text);
    text
}

fn gather(json: &Value, text: &mut String) {
    match json {
        Value::String(one) => {
            text.push_str(one);
            text.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|one| gather(one, text)),
        Value::Object(object) => {
            let told =
                |name: &&String| !matches!(name.as_str(), "code" | "severity" | "system" | "resourceType" | "id");
            let names = object.keys().filter(told);
            names.for_each(|name| gather(&object[name], text));
        }
        _ => {}
    }
}

/// Whether the text of a refusal mentions the page size.
pub(super) fn names_count(said: &str) -> bool {
    let lower = said.to_ascii_lowercase();
    lower.contains("_count") || lower.contains("page size")
}

fn alone(filter: &Filter) -> Narrower {
    Narrower {
        by: filter.parameter.to_owned(),
        searches: filter.values.iter().map(|value| term(filter, value)).collect(),
        reaches_all: filter.reaches_all,
    }
}

fn together(one: &Filter, other: &Filter) -> Narrower {
    let mut searches = Vec::new();
    for first in one.values {
        for second in other.values {
            searches.push(format!("{}&{}", term(one, first), term(other, second)));
        }
    }
    searches.truncate(LARGEST);
    Narrower {
        by: format!("{} and {}", one.parameter, other.parameter),
        reaches_all: one.reaches_all && other.reaches_all && searches.len() == one.values.len() * other.values.len(),
        searches,
    }
}

fn term(filter: &Filter, value: &str) -> String {
    format!("{}={value}", filter.parameter)
}

/// Returns the words of a refusal that may be names of parameters, in lower case.
fn words(said: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let words = said.split(|letter: char| !is_part(letter));
    words.map(str::to_ascii_lowercase).collect()
}

/// Returns the queries of granular scopes, such as `category=laboratory` of
/// `patient/Observation.rs?category=laboratory`.
fn of_scope(scope: &str, resource_type: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in scope.split_ascii_whitespace() {
        let Some((_, rest)) = word.split_once('/') else {
            continue;
        };
        let Some((name, rest)) = rest.split_once('.') else {
            continue;
        };
        let Some((access, query)) = rest.split_once('?') else {
            continue;
        };
        let plain = query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if name == resource_type && permits_reading(access) && plain && !found.iter().any(|one| one == query) {
            found.push(query.replace('|', "%7C"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(resource_type: &str, scope: Option<&str>, said: &str) -> Vec<String> {
        narrower(resource_type, scope, said, None)
            .into_iter()
            .map(|one| one.by)
            .collect()
    }

    #[test]
    fn the_refusals_own_words_go_before_us_core() {
        assert_eq!(by("Observation", None, ""), ["category", "status", "code"]);
        assert_eq!(
            by("Observation", None, "Missing required parameter: CODE"),
            ["code", "category", "status"]
        );
        assert_eq!(
            by("MedicationRequest", None, "needs status and intent"),
            ["status", "intent", "status and intent"]
        );
        assert!(by("Organization", None, "category").is_empty());
        let both = narrower("MedicationRequest", None, "needs status and intent", None).remove(2);
        assert_eq!((both.searches.len(), both.reaches_all), (64, true));
        assert!(names_filter("Condition", "a category is required") && !names_filter("Condition", "bad request"));
        assert_eq!(
            named("a Category, or CODE, beside the patient")
                .into_iter()
                .collect::<Vec<_>>(),
            ["category", "code", "patient"]
        );
        assert!(names_count("The _count must be at most 50.") && !names_count("too much"));
    }

    #[test]
    fn the_names_of_json_are_not_what_a_refusal_says() {
        let outcome = br#"{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"invalid",
            "details":{"text":"no"},"diagnostics":"bad request"}]}"#;
        let said = text_of(outcome);
        assert!(said.contains("no") && said.contains("bad request"), "{said}");
        assert!(!names_filter("Observation", &said));
        assert_eq!(text_of(b"needs a category"), "needs a category");
    }

    #[test]
    fn granular_scopes_go_first() {
        let scope = "patient/Observation.rs?category=http://x.example|laboratory patient/Observation.rs?category=vital-signs \
                     patient/Condition.rs?category=y patient/Observation.c?category=no \
                     patient/Observation.write?category=never";
        let found = narrower("Observation", Some(scope), "", None);
        assert_eq!(
            found[0].searches,
            ["category=http://x.example%7Claboratory", "category=vital-signs"]
        );
        assert!(found[0].reaches_all);
    }

    #[test]
    fn combinations_of_the_statement_are_taken() {
        let mut statement = Statement::default();
        statement.types.entry("Condition".to_owned()).or_default().combinations =
            vec![vec!["patient".to_owned(), "clinical-status".to_owned()]];
        let found = narrower("Condition", None, "", Some(&statement));
        assert_eq!(found[0].by, "clinical-status");
    }
}
