//! Turns records into readable lists: a timeline, medicines, results with a small chart, visits and plans. It reads
//! JSON from the service, and knows neither the service nor pages.

pub(super) mod chart;
pub(super) mod entry;
pub(super) mod medicines;
pub(super) mod page;
pub(super) mod results;
pub(super) mod text;
pub(super) mod timeline;
