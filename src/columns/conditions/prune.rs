//! Conditions that statistics alone may refute. Such a condition must be *necessary*: the scan skips rows for which
//! it cannot hold, and evaluates the caller's own predicate on all others. There is no negated condition. A negation
//! becomes [`Prune::Keep`], which keeps every row.

use std::fmt;
use std::sync::Arc;

/// A necessary condition on a row. Leaves are dotted paths without list markers. If a leaf repeats, one matching value
/// is enough. If a file has no column for a leaf, no row of the file meets a condition on this leaf.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Prune {
    /// Nothing is known, so every row is kept.
    #[default]
    Keep,
    /// No row can match, so every row is skipped.
    Nothing,
    /// All of these conditions must hold.
    And(Vec<Prune>),
    /// At least one of these conditions must hold.
    Or(Vec<Prune>),
    /// A text leaf has one of these values.
    Text {
        /// The dotted path of the leaf.
        leaf: Arc<str>,
        /// The texts. The leaf has at least one of them.
        any_of: Vec<Arc<str>>,
    },
    /// A leaf of type Boolean has this value.
    Flag {
        /// The dotted path of the leaf.
        leaf: Arc<str>,
        /// The value that the leaf has.
        is: bool,
    },
    /// A leaf of type int32, int64, timestamp or decimal has a value in a closed range. The bounds have the leaf's own
    /// unit: microseconds for times, 10^-18 for `__number`. A decimal that does not fit into `__number` may be in the
    /// range, so its row is kept.
    Range {
        /// The dotted path of the leaf.
        leaf: Arc<str>,
        /// The minimum value, if there is one.
        from: Option<i128>,
        /// The maximum value, if there is one.
        to: Option<i128>,
    },
    /// The leaf has a value.
    Present {
        /// The dotted path of the leaf.
        leaf: Arc<str>,
    },
    /// A leaf has no value, but another leaf of the same struct has one.
    Lacks {
        /// The dotted path of the leaf without a value.
        leaf: Arc<str>,
        /// The dotted path of the leaf with a value.
        beside: Arc<str>,
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
            Prune::Lacks { leaf, beside } => write!(f, "{beside} exists without {leaf}"),
        }
    }
}

impl Prune {
    /// Returns the leaves that the condition names. A leaf that is named twice is listed twice.
    pub fn leaves(&self) -> Vec<&str> {
        match self {
            Prune::Keep | Prune::Nothing => Vec::new(),
            Prune::And(parts) | Prune::Or(parts) => parts.iter().flat_map(Prune::leaves).collect(),
            Prune::Text { leaf, .. }
            | Prune::Flag { leaf, .. }
            | Prune::Range { leaf, .. }
            | Prune::Present { leaf } => vec![leaf],
            Prune::Lacks { leaf, beside } => vec![leaf, beside],
        }
    }

    /// Returns the condition that all of `parts` hold.
    pub fn all(parts: impl IntoIterator<Item = Prune>) -> Prune {
        let mut parts: Vec<Prune> = parts.into_iter().filter(|part| *part != Prune::Keep).collect();
        match parts.len() {
            0 => Prune::Keep,
            1 => parts.swap_remove(0),
            _ => Prune::And(parts),
        }
    }

    /// Returns the condition that at least one of `parts` holds.
    pub fn any(parts: impl IntoIterator<Item = Prune>) -> Prune {
        let mut parts: Vec<Prune> = parts.into_iter().collect();
        match parts.len() {
            _ if parts.contains(&Prune::Keep) => Prune::Keep,
            1 => parts.swap_remove(0),
            _ => Prune::Or(parts),
        }
    }

    /// Returns the condition that the half-open interval `[x__start, x__end)` overlaps `[from, until)`, in
    /// microseconds. `leaf` is the path of `x`. `None` means that there is no bound.
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
