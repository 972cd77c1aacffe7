//! String parameters against strings, and against the parts of names, addresses and concepts.

use super::{mark_items, type_name};
use crate::fhirpath::Typed;
use crate::search::value::fold;

/// Marks the rows of which a string passes `hit`.
pub(super) fn mark(part: &Typed, rows: &mut [bool], hit: &dyn Fn(&str) -> bool) {
    let parts: &[&str] = match type_name(part) {
        "HumanName" => &["family", "given", "text", "prefix", "suffix"],
        "Address" => &["line", "city", "district", "state", "postalCode", "country", "text"],
        "ContactPoint" => &["value"],
        "CodeableConcept" => {
            let codings = part.items.child("coding");
            if let Some(items) = codings.single() {
                let displays = items.child("display");
                mark_items(part, rows, |_, concept| {
                    codings
                        .range(concept)
                        .any(|coding| displays.range(coding).any(|at| passes(&displays, at, hit)))
                });
            }
            &["text"]
        }
        _ => {
            mark_items(part, rows, |items, item| items.text(item).is_some_and(hit));
            return;
        }
    };
    for name in parts {
        let children = part.items.child(name);
        mark_items(part, rows, |_, item| {
            children.range(item).any(|at| passes(&children, at, hit))
        });
    }
}

/// Whether `candidate`, folded, begins with `folded`, which is.
pub(super) fn begins(candidate: &str, folded: &str) -> bool {
    if candidate.is_ascii() {
        let candidate = candidate.as_bytes();
        return candidate.len() >= folded.len() && candidate[..folded.len()].eq_ignore_ascii_case(folded.as_bytes());
    }
    fold(candidate).starts_with(folded)
}

fn passes(children: &crate::fhirpath::Collection, at: usize, hit: &dyn Fn(&str) -> bool) -> bool {
    let (items, item) = children.item(at);
    items.text(item).is_some_and(hit)
}
