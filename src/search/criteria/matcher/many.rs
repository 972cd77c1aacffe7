//! Long lists of values: alternatives that are searched together in a set or an automaton, instead of one by one.

use std::sync::Arc;

use super::codes::OF_CODES;
use super::items::mark_items;
use super::kind::{Matcher, Targets};
use super::{CodesValue, codes, date, number, quantity, reference, string, token, uri};
use crate::columns::conditions::IdSet;
use crate::fhir::TypeId;
use crate::fhirpath::Typed;
use crate::search::parameters::values::{
    Beginnings, DateSet, NumberSet, Parts, QuantitySet, ReferenceSet, ReferenceValue, SentSet, TokenSet, TypedSet,
    UriSet, fold,
};

/// The maximum number of alternatives that the scan decides. With more, rows are tested one by one. Many ids are in one
/// set, which counts as one alternative.
pub(in crate::search) const MAX_ALTERNATIVES: usize = 64;

/// With fewer alternatives than this, ids and references are compared one by one.
const FEW: usize = 4;

/// Replaces ids and relative references by sets: one set of ids, and one set of references for each target type.
/// Returns the matchers unchanged if there are fewer than `FEW`.
pub(in crate::search) fn gather(matchers: Vec<Matcher>) -> Vec<Matcher> {
    if matchers.len() < FEW {
        return matchers;
    }
    let (mut ids, mut others) = (IdSet::default(), Vec::new());
    let mut targets: Vec<(Option<TypeId>, IdSet)> = Vec::new();
    for matcher in matchers {
        match matcher {
            Matcher::Id(id) => {
                ids.insert(&id);
            }
            Matcher::Reference(ReferenceValue::Relative { type_id, id }) => {
                match targets.iter_mut().find(|(of, _)| *of == type_id) {
                    Some((_, ids)) => ids.insert(&id),
                    None => {
                        targets.push((type_id, IdSet::from_iter([id])));
                        true
                    }
                };
            }
            other => others.push(other),
        }
    }
    if !ids.is_empty() {
        others.push(Matcher::OneOf(Arc::new(ids)));
    }
    others.extend(targets.into_iter().map(|(type_id, ids)| match type_id {
        Some(type_id) => Matcher::RefersTo(Arc::new(Targets {
            type_id,
            ids: Arc::new(ids),
        })),
        None => Matcher::PointsTo(Arc::new(ids)),
    }));
    others
}

/// Replaces the tokens by one set if there are more than `few`. The scan can decide up to [`MAX_ALTERNATIVES`] separate
/// tokens on dictionary codes, but not a set of tokens.
pub(in crate::search) fn gather_tokens(matchers: &mut Vec<Matcher>, few: usize) {
    let is_token = |matcher: &Matcher| matches!(matcher, Matcher::Token(_));
    if matchers.iter().filter(|matcher| is_token(matcher)).count() <= few {
        return;
    }
    let mut set = TokenSet::default();
    let mut others = Vec::new();
    for matcher in std::mem::take(matchers) {
        match matcher {
            Matcher::Token(token) => set.insert(token),
            other => others.push(other),
        }
    }
    others.push(Matcher::OneOfTokens(Arc::new(set)));
    *matchers = others;
}

/// With fewer values of a kind than this, each value is compared separately, because that needs no preparation.
const FEW_VALUES: usize = 5;

/// The maximum length of a `:below` or `:above` URI in a set. Longer ones are compared separately.
const LONGEST_TREE: usize = 4_096;

/// Many values of one kind.
#[derive(Debug)]
pub(in crate::search) enum Many {
    Labels(Beginnings),
    Beginnings(Beginnings),
    /// Beginnings of a text or of one of its words.
    BeginningsOfParts(Beginnings),
    Parts(Parts),
    Exact(SentSet<String>),
    Dates(DateSet),
    Numbers(NumberSet),
    Quantities(QuantitySet),
    Uris(UriSet),
    MediaTypes(SentSet<String>),
    References(ReferenceSet),
    ReferenceIdentifiers(TokenSet),
    Typed(TypedSet),
    Codes(Vec<CodesValue>),
}

/// The kinds of matchers that one set can replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Label,
    Begins,
    BeginsPart,
    Contains,
    Exact,
    Date,
    Number,
    Quantity,
    Uri,
    MediaType,
    Reference,
    ReferenceIdentifier,
    OfType,
    Codes,
}

/// Replaces the matchers of each kind by one matcher, if there are many of that kind.
pub(in crate::search) fn gather_values(matchers: &mut Vec<Matcher>) {
    if matchers.len() < FEW_VALUES {
        return;
    }
    let mut kinds: Vec<(Kind, Vec<Matcher>)> = Vec::new();
    let mut others = Vec::new();
    for matcher in std::mem::take(matchers) {
        let Some(kind) = Kind::of(&matcher) else {
            others.push(matcher);
            continue;
        };
        match kinds.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, all)) => all.push(matcher),
            None => kinds.push((kind, vec![matcher])),
        }
    }
    for (kind, all) in kinds {
        // The scan can decide up to `MAX_ALTERNATIVES` URIs or exact texts on dictionary codes, but not a set. So a set
        // replaces them only if there are more.
        let scanned = all
            .iter()
            .all(|matcher| matches!(matcher, Matcher::Uri(_) | Matcher::Exact(_)));
        let few = if scanned { MAX_ALTERNATIVES + 1 } else { FEW_VALUES };
        let many = (all.len() >= few).then(|| Many::of(kind, &all)).flatten();
        match many {
            Some(many) => others.push(Matcher::OneOfMany(Arc::new(many))),
            None => others.extend(all),
        }
    }
    *matchers = others;
}

impl Kind {
    fn of(matcher: &Matcher) -> Option<Kind> {
        Some(match matcher {
            Matcher::Label(_) => Kind::Label,
            Matcher::Begins(_) => Kind::Begins,
            Matcher::BeginsPart(_) => Kind::BeginsPart,
            Matcher::Contains(_) => Kind::Contains,
            Matcher::Exact(_) => Kind::Exact,
            Matcher::Date(_) => Kind::Date,
            Matcher::Number(_) => Kind::Number,
            Matcher::Quantity(_) => Kind::Quantity,
            Matcher::UriTree(tree) if tree.len() > LONGEST_TREE => return None,
            Matcher::Uri(_) | Matcher::UriTree(_) | Matcher::VersionsOf { .. } => Kind::Uri,
            Matcher::MediaType(_) => Kind::MediaType,
            Matcher::Reference(ReferenceValue::Text(_)) => Kind::Reference,
            Matcher::ReferenceIdentifier(_) => Kind::ReferenceIdentifier,
            Matcher::OfType(_) => Kind::OfType,
            Matcher::Codes(_) => Kind::Codes,
            _ => return None,
        })
    }
}

/// Returns the values of those matchers that are of the variant `$kind`.
macro_rules! each {
    ($matchers:expr, $kind:ident) => {
        $matchers.iter().filter_map(|matcher| match matcher {
            Matcher::$kind(value) => Some(value.clone()),
            _ => None,
        })
    };
}

impl Many {
    /// Returns the work of comparing one value, as [`Matcher::cost`] does.
    pub(super) fn cost(&self) -> u64 {
        match self {
            // Each hierarchy is asked.
            Many::Codes(values) => values.len() as u64 * OF_CODES,
            _ => 1,
        }
    }

    /// Creates the set for matchers of one kind. Returns `None` if the values cannot be searched together.
    fn of(kind: Kind, matchers: &[Matcher]) -> Option<Many> {
        Some(match kind {
            Kind::Label => Many::Labels(Beginnings::of(each!(matchers, Label).collect())),
            Kind::Begins => Many::Beginnings(Beginnings::of(each!(matchers, Begins).collect())),
            Kind::BeginsPart => Many::BeginningsOfParts(Beginnings::of(each!(matchers, BeginsPart).collect())),
            Kind::Contains => Many::Parts(Parts::of(&each!(matchers, Contains).collect::<Vec<_>>())?),
            Kind::Exact => Many::Exact(each!(matchers, Exact).collect()),
            Kind::Date => Many::Dates(DateSet::of(each!(matchers, Date).collect())),
            Kind::Number => Many::Numbers(NumberSet::of(each!(matchers, Number).collect())),
            Kind::Quantity => Many::Quantities(QuantitySet::of(each!(matchers, Quantity).collect())),
            Kind::Uri => {
                let mut set = UriSet::default();
                for matcher in matchers {
                    match matcher {
                        Matcher::Uri(uri) => set.insert(uri.clone()),
                        Matcher::UriTree(tree) => set.insert_tree(tree.clone()),
                        Matcher::VersionsOf { url, version } => set.insert_versions(url.clone(), version.clone()),
                        _ => return None,
                    }
                }
                Many::Uris(set)
            }
            Kind::MediaType => Many::MediaTypes(each!(matchers, MediaType).collect()),
            Kind::Reference => {
                let mut set = ReferenceSet::default();
                let told = each!(matchers, Reference).all(|value| set.insert(value).is_none());
                told.then_some(Many::References(set))?
            }
            Kind::ReferenceIdentifier => {
                let mut set = TokenSet::default();
                each!(matchers, ReferenceIdentifier).for_each(|token| set.insert(token));
                Many::ReferenceIdentifiers(set)
            }
            Kind::OfType => {
                let mut set = TypedSet::default();
                each!(matchers, OfType).for_each(|identifier| set.insert(identifier));
                Many::Typed(set)
            }
            Kind::Codes => Many::Codes(each!(matchers, Codes).collect()),
        })
    }

    /// Sets `rows[row]` for each row with an item that matches one of the values.
    pub(super) fn mark(&self, part: &Typed, rows: &mut [bool]) {
        match self {
            Many::Labels(set) => token::mark_label(&|candidate| set.begin(&fold(candidate)), part, rows),
            Many::Beginnings(set) => string::mark_beginning(part, rows, &|candidate| set.begin(&fold(candidate))),
            Many::BeginningsOfParts(set) => {
                let begins = |candidate: &str| set.begin(&fold(candidate));
                string::mark(part, rows, &|candidate| string::part_begins(candidate, &begins));
            }
            Many::Parts(parts) => string::mark(part, rows, &|candidate| parts.are_in(&fold(candidate))),
            Many::Exact(texts) => string::mark(part, rows, &|candidate| texts.contains(candidate)),
            Many::Dates(set) => date::mark_any(set, part, rows),
            Many::Numbers(set) => number::mark(set, part, rows),
            Many::Quantities(set) => quantity::mark(set, part, rows),
            Many::Uris(set) => uri::mark(part, rows, &|candidate| set.hold(candidate, uri::goes_on)),
            Many::MediaTypes(types) => {
                mark_items(part, rows, |items, item| {
                    items
                        .text(item)
                        .is_some_and(|text| types.contains(&token::media_type(text)))
                });
            }
            Many::References(set) => reference::mark_any(set, part, rows),
            Many::ReferenceIdentifiers(set) => reference::mark_any_identifier(set, part, rows),
            Many::Typed(set) => token::mark_any_typed(set, part, rows),
            Many::Codes(values) => codes::mark(values, part, rows),
        }
    }
}
