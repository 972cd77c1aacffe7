//! Conditions that statistics alone may refute. A condition here must be *necessary*. The scan skips rows for which it
//! cannot hold, and the caller's own predicate decides all others. A negation keeps every row.

use std::fmt;
use std::sync::Arc;

/// A necessary condition on a row. Leaves are dotted paths without list markers. If a leaf repeats, the condition is
/// about any of its values. A leaf that a file lacks has no value there.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Prune {
    /// Nothing is known, so every row is kept.
    #[default]
    Keep,
    /// No row can match.
    Nothing,
    /// All of these must hold.
    And(Vec<Prune>),
    /// At least one must hold.
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
    /// Some value of a leaf of type int32, int64, timestamp or decimal is in a closed range, in the leaf's own units
    /// (microseconds; units of 10^-18 for `__number`). A decimal that `__number` does not hold may be in any range.
    Range {
        /// The leaf.
        leaf: Arc<str>,
        /// The minimum value, if there is one.
        from: Option<i128>,
        /// The maximum value, if there is one.
        to: Option<i128>,
    },
    /// The leaf has any value.
    Present {
        /// The leaf.
        leaf: Arc<str>,
    },
}

impl fmt::Display for Prune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |f: &mut fmt::Formatter<'_>, parts: &[Prune], between: &str| {
            f.write_str("(")?;
            for (at, part) in parts.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { between })?;
                part.fmt(f)?;
            }
            f.write_str(")")
        };
        match self {
            Prune::Keep => f.write_str("true"),
            Prune::Nothing => f.write_str("false"),
            Prune::And(parts) => joined(f, parts, " and "),
            Prune::Or(parts) => joined(f, parts, " or "),
            Prune::Text { leaf, any_of } => match any_of.as_slice() {
                [text] => write!(f, "{leaf} = '{text}'"),
                texts => write!(f, "{leaf} in {} texts", texts.len()),
            },
            Prune::Flag { leaf, is } => write!(f, "{leaf} = {is}"),
            Prune::Range { leaf, from, to } => match (from, to) {
                (Some(from), Some(to)) => write!(f, "{leaf} in {from}..={to}"),
                (Some(from), None) => write!(f, "{leaf} >= {from}"),
                (None, Some(to)) => write!(f, "{leaf} <= {to}"),
                (None, None) => write!(f, "{leaf} exists"),
            },
            Prune::Present { leaf } => write!(f, "{leaf} exists"),
        }
    }
}

impl Prune {
    /// The leaves that the condition names.
    pub fn leaves(&self) -> Vec<&str> {
        match self {
            Prune::Keep | Prune::Nothing => Vec::new(),
            Prune::And(parts) | Prune::Or(parts) => parts.iter().flat_map(Prune::leaves).collect(),
            Prune::Text { leaf, .. }
            | Prune::Flag { leaf, .. }
            | Prune::Range { leaf, .. }
            | Prune::Present { leaf } => vec![leaf],
        }
    }

    /// The condition that all of these hold.
    pub fn all(parts: impl IntoIterator<Item = Prune>) -> Prune {
        let mut parts: Vec<Prune> = parts.into_iter().filter(|part| *part != Prune::Keep).collect();
        match parts.len() {
            0 => Prune::Keep,
            1 => parts.swap_remove(0),
            _ => Prune::And(parts),
        }
    }

    /// The condition that one of these conditions holds.
    pub fn any(parts: impl IntoIterator<Item = Prune>) -> Prune {
        let mut parts: Vec<Prune> = parts.into_iter().collect();
        match parts.len() {
            _ if parts.contains(&Prune::Keep) => Prune::Keep,
            1 => parts.swap_remove(0),
            _ => Prune::Or(parts),
        }
    }

    /// Half-open intervals `[x__start, x__end)` that overlap `[from, until)`, in microseconds. `leaf` is the path of
    /// `x`.
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
