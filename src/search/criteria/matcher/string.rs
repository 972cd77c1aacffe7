//! Compares the values of string parameters with strings, and with the parts of names, addresses, contact points and
//! concepts.

use super::items::{mark_items, type_name};
use crate::fhirpath::Typed;
use crate::search::parameters::values;
use crate::search::parameters::values::{Prefix, fold, has_noise};

/// Sets `rows[row]` for each row with a string for which `hit` returns `true`.
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

/// Sets `rows[row]` for each row with a string for which `begins` returns `true`. For a family name of several words,
/// each word also counts as a string.
pub(super) fn mark_beginning(part: &Typed, rows: &mut [bool], begins: &dyn Fn(&str) -> bool) {
    mark(part, rows, begins);
    if type_name(part) == "HumanName" {
        let families = part.items.child("family");
        mark_items(part, rows, |_, item| {
            families
                .range(item)
                .any(|at| passes(&families, at, &|family| part_begins(family, begins)))
        });
    }
}

/// Whether `candidate` begins with `plain`, a string that `values::plain` has normalized. Case, combining marks,
/// punctuation and surplus blanks in `candidate` are ignored.
pub(super) fn begins(candidate: &str, plain: &str) -> bool {
    if candidate.is_ascii() {
        let bytes = candidate.as_bytes();
        if bytes.len() >= plain.len() && bytes[..plain.len()].eq_ignore_ascii_case(plain.as_bytes()) {
            return true;
        }
        if !has_noise(candidate) {
            return false;
        }
    }
    values::begins(&fold(candidate), plain)
}

/// Whether `begins` returns `true` for `candidate`, or for the text after any blank or hyphen in `candidate`.
pub(super) fn part_begins(candidate: &str, begins: &dyn Fn(&str) -> bool) -> bool {
    begins(candidate)
        || candidate
            .char_indices()
            .filter(|(_, c)| *c == ' ' || *c == '-')
            .any(|(at, _)| begins(&candidate[at + 1..]))
}

/// Whether `candidate`, trimmed and folded, is greater or less than `folded`, as the prefix requires. `false` for all
/// prefixes except `gt`, `ge`, `lt` and `le`.
pub(super) fn is_ordered(candidate: &str, prefix: Prefix, folded: &str) -> bool {
    let order = fold(candidate.trim()).as_str().cmp(folded);
    match prefix {
        Prefix::Gt => order.is_gt(),
        Prefix::Ge => order.is_ge(),
        Prefix::Lt => order.is_lt(),
        Prefix::Le => order.is_le(),
        _ => false,
    }
}

fn passes(children: &crate::fhirpath::Collection, at: usize, hit: &dyn Fn(&str) -> bool) -> bool {
    let (items, item) = children.item(at);
    items.text(item).is_some_and(hit)
}
