//! Conditions of statistics that decide a caller's condition, instead of being only necessary for it.
//!
//! [`Prune::Keep`] means that nothing is known of a condition, and a conjunction leaves it out. So a conjunction of
//! conditions decides all of them only if something is known of each. The type [`Decisive`] ensures this: it has no
//! value for a condition of which nothing is known.

use super::prune::Prune;

/// A condition of statistics that is equivalent to the caller's condition, not only necessary. No part of it is
/// [`Prune::Keep`].
#[derive(Clone, Debug, PartialEq)]
pub struct Decisive(Prune);

impl Decisive {
    /// Returns the condition as one that decides. `None` if nothing is known of a part of it, because then it decides
    /// nothing.
    pub fn of(condition: Prune) -> Option<Decisive> {
        is_known(&condition).then_some(Decisive(condition))
    }

    /// Returns the condition that decides all of `parts` together. `None` if there are no parts, or if one of them is
    /// `None`, because then a condition is left undecided.
    pub fn all(parts: impl IntoIterator<Item = Option<Decisive>>) -> Option<Decisive> {
        let parts: Option<Vec<Prune>> = parts.into_iter().map(|part| Some(part?.0)).collect();
        let mut parts = parts?;
        match parts.len() {
            0 => None,
            1 => parts.pop().map(Decisive),
            _ => Some(Decisive(Prune::And(parts))),
        }
    }

    /// Returns the condition.
    pub fn condition(&self) -> &Prune {
        &self.0
    }
}

fn is_known(condition: &Prune) -> bool {
    match condition {
        Prune::Keep => false,
        Prune::And(parts) | Prune::Or(parts) => parts.iter().all(is_known),
        Prune::Nothing
        | Prune::Text { .. }
        | Prune::Flag { .. }
        | Prune::Range { .. }
        | Prune::Present { .. }
        | Prune::Lacks { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Prune {
        Prune::Present { leaf: "a".into() }
    }

    #[test]
    fn nothing_known_decides_nothing() {
        assert_eq!(Decisive::of(Prune::Keep), None);
        assert_eq!(Decisive::of(Prune::And(vec![known(), Prune::Keep])), None);
        assert_eq!(
            Decisive::of(Prune::Or(vec![Prune::And(vec![Prune::Keep]), known()])),
            None
        );
        assert!(Decisive::of(Prune::Or(vec![known(), Prune::Nothing])).is_some());
    }

    #[test]
    fn a_conjunction_decides_only_if_each_part_does() {
        let one = || Decisive::of(known());
        assert_eq!(Decisive::all([]), None);
        assert_eq!(Decisive::all([one(), None]), None);
        assert_eq!(Decisive::all([one()]), one());
        let both = Decisive::all([one(), one()]).map(|both| both.condition().clone());
        assert_eq!(both, Some(Prune::And(vec![known(), known()])));
    }
}
