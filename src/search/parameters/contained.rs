//! `_contained` and `_containedType`: which resources are searched, and how contained ones are shown (R4 search,
//! 3.1.1.5.5).

/// The column that holds contained resources.
pub(in crate::search) const COLUMN: &str = "contained";

/// Which resources are searched, and how contained ones are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) struct Contained {
    /// The value of `_contained`.
    pub(in crate::search) which: Which,
    /// Whether the answer shows the contained resource instead of its container (`_containedType=contained`).
    pub(in crate::search) alone: bool,
}

/// The values of `_contained`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) enum Which {
    /// Only resources that are not contained in another one (`false`).
    #[default]
    Outer,
    /// Only contained resources (`true`).
    Inner,
    /// All resources (`both`).
    Both,
}
