//! Collects the results, and presents them to people and programs.

pub(super) mod compare;
pub(super) mod html;
pub(super) mod machine;
pub(super) mod report;
pub(super) mod tally;
