//! Counts a source's refusals during a job, and decides whether further attempts may help. So a source that refuses
//! everything for the same reason does not get hundreds of narrower searches.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of refused searches of one type. `OF_JOB` is the maximum for all types together.
const OF_TYPE: u32 = 64;
const OF_JOB: u32 = 400;
/// If a source has answered no search and has refused this many in a similar way, searches with such a refusal are not
/// tried again in another form.
const HOPELESS: u32 = 40;
/// If narrower searches failed for this number of types and helped for none, they are not tried again. Only types with
/// similar refusals count.
const VAIN_TYPES: u32 = 4;

/// What similar refusals have in common: the status, and the search parameters that their texts mention.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Likeness {
    pub(super) status: u16,
    pub(super) named: BTreeSet<&'static str>,
}

/// The refusals of one job.
#[derive(Debug, Default)]
pub(in crate::sync::jobs) struct Refusals(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// Whether the source has answered any search.
    answered: bool,
    of_type: HashMap<&'static str, u32>,
    all: u32,
    alike: HashMap<Likeness, u32>,
    /// For each kind of refusal, the types for which narrower searches did not help.
    in_vain: HashMap<Likeness, HashSet<&'static str>>,
    /// The kinds of refusals after which narrower searches helped.
    helped: HashSet<Likeness>,
}

impl Refusals {
    pub(super) fn answered(&self) {
        self.seen().answered = true;
    }

    pub(super) fn note(&self, name: &'static str, likeness: &Likeness) {
        let mut seen = self.seen();
        seen.all += 1;
        *seen.of_type.entry(name).or_default() += 1;
        *seen.alike.entry(likeness.clone()).or_default() += 1;
    }

    /// Records whether narrower searches helped for a type after a refusal.
    pub(super) fn narrowed(&self, name: &'static str, likeness: Likeness, helped: bool) {
        let mut seen = self.seen();
        if helped {
            seen.helped.insert(likeness);
        } else {
            seen.in_vain.entry(likeness).or_default().insert(name);
        }
    }

    /// Whether another search may be tried for a type after a refusal of this kind.
    pub(super) fn may_go_on(&self, name: &'static str, likeness: &Likeness) -> bool {
        let seen = self.seen();
        let count = |all: &HashMap<Likeness, u32>| all.get(likeness).copied().unwrap_or_default();
        let vain = seen.in_vain.get(likeness).map_or(0, HashSet::len);
        seen.all < OF_JOB
            && seen.of_type.get(name).copied().unwrap_or_default() < OF_TYPE
            && (seen.answered || count(&seen.alike) < HOPELESS)
            && (seen.helped.contains(likeness) || vain < VAIN_TYPES as usize)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent() -> Likeness {
        Likeness {
            status: 400,
            named: BTreeSet::new(),
        }
    }

    fn category() -> Likeness {
        Likeness {
            status: 400,
            named: ["category"].into(),
        }
    }

    #[test]
    fn a_source_that_answers_nothing_is_given_up() {
        let refusals = Refusals::default();
        for _ in 0..HOPELESS {
            assert!(refusals.may_go_on("Goal", &silent()));
            refusals.note("Observation", &silent());
        }
        assert!(!refusals.may_go_on("Goal", &silent()));
        assert!(refusals.may_go_on("Goal", &category()), "another refusal");
        refusals.answered();
        assert!(refusals.may_go_on("Goal", &silent()));
    }

    #[test]
    fn what_helped_no_type_is_not_tried_for_all() {
        let refusals = Refusals::default();
        for name in ["Goal", "Condition", "Procedure", "Encounter"] {
            assert!(refusals.may_go_on("Observation", &silent()));
            refusals.narrowed(name, silent(), false);
        }
        assert!(!refusals.may_go_on("Observation", &silent()));
        refusals.narrowed("Coverage", silent(), true);
        assert!(refusals.may_go_on("Observation", &silent()));
    }

    #[test]
    fn a_type_and_a_job_have_bounds() {
        let refusals = Refusals::default();
        refusals.answered();
        for _ in 0..OF_TYPE {
            refusals.note("Observation", &silent());
        }
        assert!(!refusals.may_go_on("Observation", &silent()) && refusals.may_go_on("Goal", &silent()));
        for _ in OF_TYPE..OF_JOB {
            refusals.note("Condition", &category());
        }
        assert!(!refusals.may_go_on("Goal", &silent()));
    }
}
