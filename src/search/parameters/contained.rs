//! `_contained` and `_containedType`: which resources are searched, and what is shown of contained ones (R4 search,
//! 3.1.1.5.5).

/// The column that holds contained resources.
pub(in crate::search) const COLUMN: &str = "contained";

/// Which resources are searched, and how contained ones are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) struct Contained {
    /// `_contained`.
    pub(in crate::search) which: Which,
    /// `_containedType=contained`: shows the contained resource instead of its container.
    pub(in crate::search) alone: bool,
}

/// `_contained`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) enum Which {
    /// Resources of their own.
    #[default]
    Outer,
    /// Contained ones.
    Inner,
    /// All.
    Both,
}
