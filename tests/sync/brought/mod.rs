//! What a sync brings.

pub(super) mod again;
pub(super) mod many;
pub(super) mod normalized;
pub(super) mod pdf;
pub(super) mod pdf_sources;
pub(super) mod whole;
