//! Many alternatives of a composite parameter: a tuple is compared only with the alternatives that have its token.
//!
//! Alternatives with the same token form a group. A tuple's tokens select its groups. The conditions of a group on the
//! other components are decided for all of its tuples at once.

use super::super::parameters::parameter::Compiled;
use super::matcher::{self, Matcher, TokenIndex};
use crate::fhir::search_parameter::SearchType;
use crate::fhirpath::Collection;

/// Fewer alternatives are compared one by one.
const FEW: usize = 8;

/// Alternatives by their token.
#[derive(Debug)]
pub(in crate::search) struct TupleSet {
    /// The index of the token's component.
    key: usize,
    index: TokenIndex,
    groups: Vec<Group>,
}

/// The conditions of alternatives with the same token on the other components.
#[derive(Debug)]
enum Group {
    /// One other component, which must match one of these.
    One(usize, Vec<Matcher>),
    /// Several other components, which must all match the same alternative. The token's component is skipped.
    Several(Vec<Vec<Matcher>>),
}

impl TupleSet {
    /// Groups the alternatives. Returns them unchanged if there are few, or if no component is a token.
    pub(in crate::search) fn of(
        compiled: &Compiled,
        mut alternatives: Vec<Vec<Matcher>>,
    ) -> Result<TupleSet, Vec<Vec<Matcher>>> {
        alternatives.retain(|of| !of.iter().any(|matcher| matches!(matcher, Matcher::Nothing)));
        let components = &compiled.components;
        let mut tokens = (0..components.len()).filter(|at| components[*at].parameter.search_type == SearchType::Token);
        let is_token = |at: usize| {
            alternatives
                .iter()
                .all(|of| matches!(of.get(at), Some(Matcher::Token(_))))
        };
        let Some(key) = tokens.find(|at| is_token(*at)).filter(|_| alternatives.len() >= FEW) else {
            return Err(alternatives);
        };
        let mut index = TokenIndex::default();
        let mut groups: Vec<Vec<Vec<Matcher>>> = Vec::new();
        for alternative in alternatives {
            if let Matcher::Token(token) = &alternative[key] {
                let group = index.insert(token, groups.len());
                if group == groups.len() {
                    groups.push(Vec::new());
                }
                groups[group].push(alternative);
            }
        }
        let other = (0..components.len()).find(|at| *at != key);
        let groups = groups.into_iter().map(|alternatives| match (other, components.len()) {
            (Some(other), 2) => {
                let only = alternatives.into_iter().map(|mut matchers| matchers.swap_remove(other));
                let mut only = matcher::gather(only.collect());
                matcher::gather_tokens(&mut only, FEW);
                matcher::gather_values(&mut only);
                Group::One(other, only)
            }
            _ => Group::Several(alternatives),
        });
        Ok(TupleSet {
            key,
            groups: groups.collect(),
            index,
        })
    }

    /// Calls `found` with each tuple that meets an alternative, maybe more than once for a tuple. `components` hold the
    /// values of each tuple.
    pub(in crate::search) fn each(&self, components: &[Collection], mut found: impl FnMut(usize)) {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.groups.len()];
        for part in components[self.key].typed() {
            self.index.each(&part, |tuple, group| {
                let tuple = tuple as u32;
                if members[group].last() != Some(&tuple) {
                    members[group].push(tuple);
                }
            });
        }
        for (group, tuples) in self.groups.iter().zip(members) {
            if tuples.is_empty() {
                continue;
            }
            let mut hits = vec![false; tuples.len()];
            match group {
                Group::One(at, matchers) => mark(&components[*at].of_rows(&tuples), matchers, &mut hits),
                Group::Several(alternatives) => {
                    let components: Vec<Collection> = components.iter().map(|of| of.of_rows(&tuples)).collect();
                    for matchers in alternatives {
                        let mut all = vec![true; tuples.len()];
                        for at in (0..components.len()).filter(|at| *at != self.key) {
                            let mut of_component = vec![false; tuples.len()];
                            mark(&components[at], &matchers[at..=at], &mut of_component);
                            all.iter_mut().zip(of_component).for_each(|(all, hit)| *all &= hit);
                        }
                        hits.iter_mut().zip(all).for_each(|(hit, all)| *hit |= all);
                    }
                }
            }
            let hit = tuples.into_iter().zip(hits).filter(|(_, hit)| *hit);
            hit.for_each(|(tuple, _)| found(tuple as usize));
        }
    }
}

fn mark(values: &Collection, matchers: &[Matcher], hits: &mut [bool]) {
    for part in values.typed() {
        matchers.iter().for_each(|matcher| matcher.mark(&part, hits));
    }
}
