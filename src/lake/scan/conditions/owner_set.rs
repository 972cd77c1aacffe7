//! The owners to which a scan is restricted: those of one person, or of thousands of people.

use std::ops::RangeInclusive;

/// Owners, ascending and without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lake::scan) struct OwnerSet(Box<[i64]>);

impl OwnerSet {
    pub(in crate::lake::scan) fn of(owners: &[i64]) -> OwnerSet {
        let mut owners = owners.to_vec();
        owners.sort_unstable();
        owners.dedup();
        OwnerSet(owners.into())
    }

    pub(in crate::lake::scan) fn all(&self) -> &[i64] {
        &self.0
    }

    pub(in crate::lake::scan) fn holds(&self, owner: i64) -> bool {
        self.0.binary_search(&owner).is_ok()
    }

    /// Returns the owners within a range.
    pub(in crate::lake::scan) fn within(&self, range: &RangeInclusive<i64>) -> &[i64] {
        let from = self.0.partition_point(|owner| owner < range.start());
        let length = self.0[from..].partition_point(|owner| owner <= range.end());
        &self.0[from..from + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn owners_within_a_range(owners in prop::collection::vec(-9i64..9, 0..20), from in -10i64..10, length in 0i64..20) {
            let (set, range) = (OwnerSet::of(&owners), from..=from + length);
            let mut expected: Vec<i64> = owners.iter().copied().filter(|owner| range.contains(owner)).collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(set.within(&range), expected);
            for owner in -10..10 {
                prop_assert_eq!(set.holds(owner), owners.contains(&owner));
            }
        }
    }
}
