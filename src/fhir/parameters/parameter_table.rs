//! Reads `schemas/search-parameters.tsv`. The table is part of the program, so a fault in it is a bug, and reading
//! panics. A test reads the whole table.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::facts::{TypeId, facts};
use super::definition::{Comparator, Component, Modifier, SearchParameter, SearchType, Usage};

static TABLE: &str = include_str!("../../../schemas/search-parameters.tsv");
/// The beginning of each URL, which the table leaves out.
const URLS: &str = "http://hl7.org/fhir/SearchParameter/";

pub(in crate::fhir) fn read() -> Vec<Arc<SearchParameter>> {
    let mut parameters: Vec<SearchParameter> = Vec::with_capacity(1400);
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix('\t') {
            Some(component) => {
                let (definition, expression) = component.split_once('\t').expect("a component has two columns");
                let composite = parameters.last_mut().expect("a component follows its composite");
                composite.components.push(Component {
                    definition: url(definition),
                    expression: expression.into(),
                });
            }
            None => parameters.push(parameter(line)),
        }
    }
    parameters.into_iter().map(Arc::new).collect()
}

fn parameter(line: &'static str) -> SearchParameter {
    let columns: Vec<&'static str> = line
        .split('\t')
        .map(|column| if column == "-" { "" } else { column })
        .collect();
    let [
        id,
        code,
        search_type,
        bases,
        targets,
        multiple_or,
        multiple_and,
        comparators,
        modifiers,
        usage,
        expression,
    ] = columns[..]
    else {
        panic!("search-parameters.tsv: a parameter has eleven columns: {line}");
    };
    SearchParameter {
        url: url(id),
        code: code.into(),
        search_type: SearchType::parse(search_type).expect("search-parameters.tsv: a type"),
        bases: list(bases, type_named),
        targets: list(targets, type_named),
        expression: (!expression.is_empty()).then(|| expression.into()),
        components: Vec::new(),
        multiple_or: flag(multiple_or),
        multiple_and: flag(multiple_and),
        comparators: list(comparators, Comparator::parse),
        modifiers: list(modifiers, Modifier::parse),
        usage: Usage::parse(usage).expect("search-parameters.tsv: a usage"),
    }
}

fn url(id: &str) -> Cow<'static, str> {
    Cow::Owned(format!("{URLS}{id}"))
}

fn type_named(name: &str) -> Option<TypeId> {
    facts().lookup(name)
}

fn flag(text: &str) -> Option<bool> {
    (!text.is_empty()).then(|| text == "true")
}

fn list<T>(text: &'static str, item: fn(&str) -> Option<T>) -> Vec<T> {
    text.split(',')
        .filter(|text| !text.is_empty())
        .map(|text| item(text).unwrap_or_else(|| panic!("search-parameters.tsv: unknown: {text}")))
        .collect()
}
