//! How things are shown: the page around them, resources as lines and as JSON, differences, sizes and times, plots.

pub(super) mod asset;
pub(super) mod difference;
pub(super) mod json;
pub(super) mod label;
pub(super) mod page;
pub(super) mod plot;
pub(super) mod tenant;
pub(super) mod words;
