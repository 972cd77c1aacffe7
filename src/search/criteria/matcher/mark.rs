//! Compares a matcher with the items of the rows. The other files of this folder do the comparison, one for each kind
//! of value.

use super::items::mark_items;
use super::kind::Matcher;
use super::{codes, date, near, number, quantity, reference, string, token, uri};
use crate::fhirpath::Typed;
use crate::search::parameters::values::{contains, fold};

impl Matcher {
    /// Sets `rows[row]` for each row that has a matching item.
    pub(in crate::search) fn mark(&self, part: &Typed, rows: &mut [bool]) {
        match self {
            Matcher::Token(value) => token::mark(value, part, rows),
            Matcher::OneOfTokens(set) => token::mark_any(set, part, rows),
            Matcher::Id(id) => mark_items(part, rows, |items, item| items.text(item) == Some(id)),
            Matcher::OneOf(ids) => {
                mark_items(part, rows, |items, item| {
                    items.text(item).is_some_and(|id| ids.contains(id))
                });
            }
            Matcher::Label(text) => {
                token::mark_label(&|candidate| string::begins(candidate, text), part, rows);
            }
            Matcher::OfType(value) => token::mark_typed(value, part, rows),
            Matcher::Codes(value) => codes::mark(std::slice::from_ref(value), part, rows),
            Matcher::Begins(text) => {
                string::mark_beginning(part, rows, &|candidate| string::begins(candidate, text));
            }
            Matcher::BeginsPart(text) => {
                let begins = |candidate: &str| string::begins(candidate, text);
                string::mark(part, rows, &|candidate| string::part_begins(candidate, &begins));
            }
            Matcher::Contains(text) => string::mark(part, rows, &|candidate| contains(&fold(candidate), text)),
            Matcher::Same(text) => string::mark(part, rows, &|candidate| fold(candidate) == *text),
            Matcher::Ends(text) => string::mark(part, rows, &|candidate| fold(candidate).ends_with(text.as_str())),
            Matcher::Exact(text) => string::mark(part, rows, &|candidate| candidate == text),
            Matcher::Ordered(prefix, text) => {
                string::mark(part, rows, &|candidate| string::is_ordered(candidate, *prefix, text));
            }
            Matcher::Date(value) => date::mark(value, part, rows),
            Matcher::Encloses(interval) => date::mark_enclosing(*interval, part, rows),
            Matcher::Number(value) => number::mark(value, part, rows),
            Matcher::Imprecise(value) => number::mark_imprecise(value, part, rows),
            Matcher::Quantity(value) => quantity::mark(value, part, rows),
            Matcher::Reference(value) => reference::mark(value, part, rows),
            Matcher::PointsTo(ids) => reference::mark_targets(None, ids, part, rows),
            Matcher::RefersTo(targets) => reference::mark_targets(Some(targets.type_id), &targets.ids, part, rows),
            Matcher::Canonicals(borne) => reference::mark_canonicals(borne, part, rows),
            Matcher::ReferenceIdentifier(value) => reference::mark_identifier(value, part, rows),
            Matcher::Uri(uri) => uri::mark(part, rows, &|candidate| candidate == uri),
            Matcher::UriTree(tree) => uri::mark(part, rows, &|candidate| tree.holds(candidate)),
            Matcher::MediaType(base) => {
                mark_items(part, rows, |items, item| {
                    items.text(item).is_some_and(|text| token::media_type(text) == *base)
                });
            }
            Matcher::VersionsOf { url, version } => {
                let version = version.as_deref();
                mark_items(part, rows, |items, item| {
                    items
                        .text(item)
                        .is_some_and(|text| uri::is_version_of(text, url, version))
                });
            }
            Matcher::Near(value) => near::mark(value, part, rows),
            Matcher::OneOfMany(many) => many.mark(part, rows),
            Matcher::Nothing => {}
        }
    }
}
