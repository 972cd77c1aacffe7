//! Token criteria that the scan decides itself on dictionary codes, which is several times as fast as evaluating their
//! expression: those whose expression is one column of codings, identifiers or codes, without `:not`.
//!
//! They mean the same as `matcher::token`; whatever is not said here is left to it.

use std::sync::Arc;

use super::matcher::Matcher;
use super::query::{Criterion, Test};
use super::value::TokenValue;
use crate::fhir::facts;
use crate::lake::scan::{ItemMatch, Wish};

/// The criterion as a condition on items, if it is one.
pub(super) fn condition(criterion: &Criterion) -> Option<ItemMatch> {
    let Test::AnyOf { matchers, not: false } = &criterion.test else {
        return None;
    };
    let (ty, path) = criterion.compiled.program.column()?;
    let leaves = match facts().get(ty).name {
        "CodeableConcept" => ["coding.system", "coding.code"],
        "Coding" => ["system", "code"],
        "Identifier" | "ContactPoint" => ["system", "value"],
        _ => return None,
    };
    let any_of = matchers
        .iter()
        .map(|matcher| match matcher {
            Matcher::Token(value) => wishes(value),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?;
    Some(ItemMatch {
        leaves: leaves.iter().map(|leaf| format!("{path}.{leaf}").into()).collect(),
        any_of,
        label: criterion.label.as_str().into(),
    })
}

/// What system and code should be.
fn wishes(value: &TokenValue) -> Option<Vec<Wish>> {
    let text = |text: &String| -> Arc<str> { text.as_str().into() };
    let code = value.code.as_ref().map_or(Wish::Any, |code| Wish::Like(text(code)));
    let system = match &value.system {
        None => Wish::Any,
        Some(none) if none.is_empty() => Wish::Absent,
        Some(system) => Wish::Is(text(system)),
    };
    let says = matches!(code, Wish::Like(_)) || matches!(system, Wish::Is(_));
    says.then(|| vec![system, code])
}
