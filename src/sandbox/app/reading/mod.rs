//! Turns records into readable lists: a timeline, medicines, results with a small chart, visits and plans. The input
//! is FHIR JSON. This code does not call the service and does not write pages.

pub(super) mod chart;
pub(super) mod entry;
pub(super) mod medicines;
pub(super) mod page;
pub(super) mod results;
pub(super) mod text;
pub(super) mod timeline;
