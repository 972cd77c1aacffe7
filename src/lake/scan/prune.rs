//! What can be told about rows from statistics alone, as a caller states it. A condition here must be *necessary*: rows
//! for which it cannot hold are skipped, all others are read and decided by the caller's own predicate. Negations keep
//! everything.

use std::sync::Arc;

/// A necessary condition on a row. Leaves are dotted paths without list markers; where a leaf repeats, the condition is
/// about any of its values. A leaf that a file lacks has no value there.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Prune {
    /// Nothing can be told.
    #[default]
    Keep,
    /// No row can match.
    Nothing,
    /// Each holds.
    And(Vec<Prune>),
    /// One holds at least.
    Or(Vec<Prune>),
    /// Some value of a text leaf is one of these.
    Text {
        /// The leaf.
        leaf: Arc<str>,
        /// The values.
        any_of: Vec<Arc<str>>,
    },
    /// Some value of a leaf of type Boolean.
    Flag {
        /// The leaf.
        leaf: Arc<str>,
        /// The value.
        is: bool,
    },
    /// Some value of a leaf of type int32, int64, timestamp or decimal lies in a closed range, counted in the leaf's own units
    /// (microseconds; units of 10^-18 for `__number`).
    Range {
        /// The leaf.
        leaf: Arc<str>,
        /// Least value, if there is one.
        from: Option<i128>,
        /// Greatest value, if there is one.
        to: Option<i128>,
    },
    /// The leaf has a value at all.
    Present {
        /// The leaf.
        leaf: Arc<str>,
    },
}

impl Prune {
    /// Half-open intervals `[x__start, x__end)` that overlap `[from, until)`, in microseconds; `leaf` is the path of `x`.
    pub fn overlaps(leaf: &str, from: Option<i64>, until: Option<i64>) -> Prune {
        let bound = |suffix: &str, from: Option<i128>, to: Option<i128>| Prune::Range {
            leaf: format!("{leaf}{suffix}").into(),
            from,
            to,
        };
        Prune::And(vec![
            bound(
                crate::fhir::storage::START,
                None,
                until.map(|until| i128::from(until) - 1),
            ),
            bound(crate::fhir::storage::END, from.map(|from| i128::from(from) + 1), None),
        ])
    }
}
