//! Records as people read them: a timeline, medicines, results with a small chart, and what is said of a visit or a
//! plan. It reads JSON as the service gives it, and knows neither the service nor pages.

pub(super) mod chart;
pub(super) mod entry;
pub(super) mod medicines;
pub(super) mod page;
pub(super) mod results;
pub(super) mod text;
pub(super) mod timeline;
