//! Long lists of ids, references and tokens: alternatives that are looked up in a set rather than compared one by one.

use std::sync::Arc;

use super::{Matcher, Targets};
use crate::fhir::TypeId;
use crate::lake::scan::IdSet;
use crate::search::value::{ReferenceValue, TokenSet};

/// Fewer alternatives of a kind are compared one by one.
const FEW: usize = 4;

/// The same alternatives, those that name ids in sets of one kind each where there are many.
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
            Matcher::Reference(ReferenceValue::Relative { ty, id }) => {
                match targets.iter_mut().find(|(of, _)| *of == ty) {
                    Some((_, ids)) => ids.insert(&id),
                    None => {
                        targets.push((ty, IdSet::from_iter([id])));
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
    others.extend(targets.into_iter().map(|(ty, ids)| match ty {
        Some(ty) => Matcher::RefersTo(Arc::new(Targets { ty, ids: Arc::new(ids) })),
        None => Matcher::PointsTo(Arc::new(ids)),
    }));
    others
}

/// The same matchers, their tokens in one set, where they are more than the scan decides on dictionary codes.
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
