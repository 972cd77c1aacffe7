//! Compares the value of a search with a resource's value, both as half-open intervals (R4 search, 3.1.1.4.5).

use super::Prefix;

/// A half-open interval. The extreme values of `i64` and `i128` mean "no bound".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval<T> {
    /// The first value in the interval.
    pub start: T,
    /// The first value after the interval.
    pub end: T,
}

impl<T: Ord + Copy> Interval<T> {
    /// Whether `other` is completely inside this interval.
    pub(crate) fn contains(self, other: Interval<T>) -> bool {
        other.start >= self.start && other.end <= self.end
    }

    /// Whether both intervals have a value in common.
    pub(crate) fn overlaps(self, other: Interval<T>) -> bool {
        other.start < self.end && self.start < other.end
    }

    /// Whether a resource's value matches the value of a search. `self` is the interval of the search's value, `prefix`
    /// is its prefix, and `target` is the interval of the resource's value. For [`Prefix::Ap`], the caller must have
    /// widened `self`.
    pub(crate) fn matches(self, prefix: Prefix, target: Interval<T>) -> bool {
        match prefix {
            Prefix::Eq => self.contains(target),
            Prefix::Ne => !self.contains(target),
            Prefix::Gt => target.end > self.end,
            Prefix::Lt => target.start < self.start,
            Prefix::Ge => target.end > self.end || self.contains(target),
            Prefix::Le => target.start < self.start || self.contains(target),
            Prefix::Sa => target.start >= self.end,
            Prefix::Eb => target.end <= self.start,
            Prefix::Ap => self.overlaps(target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(target: (i64, i64)) -> String {
        use Prefix::*;
        let search = Interval { start: 10, end: 20 };
        let target = Interval {
            start: target.0,
            end: target.1,
        };
        [Eq, Ne, Gt, Lt, Ge, Le, Sa, Eb, Ap]
            .into_iter()
            .filter(|prefix| search.matches(*prefix, target))
            .map(|prefix| format!("{prefix:?}").to_lowercase())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn prefixes_on_ranges() {
        assert_eq!(held((10, 20)), "eq ge le ap");
        assert_eq!(held((12, 13)), "eq ge le ap");
        assert_eq!(held((5, 15)), "ne lt le ap");
        assert_eq!(held((15, 25)), "ne gt ge ap");
        assert_eq!(held((5, 25)), "ne gt lt ge le ap");
        assert_eq!(held((20, 30)), "ne gt ge sa");
        assert_eq!(held((0, 10)), "ne lt le eb");
    }
}
