//! Renders the parts of pages: the menu, resources as lines and as JSON, narratives, differences, sizes, times and
//! plots.

pub(super) mod asset;
pub(super) mod axis;
pub(super) mod cell;
pub(super) mod difference;
pub(super) mod json;
pub(super) mod label;
pub(super) mod narrative;
pub(super) mod page;
pub(super) mod plot;
pub(super) mod tenant;
pub(super) mod words;
