//! Many alternatives of a composite parameter. A tuple is compared only with those alternatives that have its token.
//!
//! Alternatives with the same token form a group. The tokens of a tuple select its groups. The conditions of a group on
//! the other components are decided for all tuples of the group at once.

use super::super::parameters::parameter::Compiled;
use super::matcher::{self, Matcher, TokenIndex};
use crate::fhir::search_parameter::SearchType;
use crate::fhirpath::Collection;

/// With fewer alternatives than this, each is compared separately.
const FEW: usize = 8;

/// The alternatives, grouped by their token.
#[derive(Debug)]
pub(in crate::search) struct TupleSet {
    /// The index of the component whose matcher is a token in every alternative.
    key: usize,
    index: TokenIndex,
    groups: Vec<Group>,
}

/// The conditions that alternatives with the same token have on the other components.
#[derive(Debug)]
enum Group {
    /// The composite has one other component, with this index. At least one of the matchers must match it.
    One(usize, Vec<Matcher>),
    /// The composite has several other components. The matchers of at least one alternative must match all of these
    /// components. The matcher for the token is skipped, because the group has the token.
    Several(Vec<Vec<Matcher>>),
}

impl TupleSet {
    /// Groups the alternatives. Returns the alternatives as an error if there are fewer than `FEW`, or if no component
    /// is a token in all of them. The caller then compares them one by one. Alternatives that can match nothing are
    /// dropped, also from the error.
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

    /// Calls `found` with each tuple that matches an alternative, maybe several times for the same tuple. `components`
    /// has the values of each component for each tuple.
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
