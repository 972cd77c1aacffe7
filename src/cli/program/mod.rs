//! Commands about the program itself: what shells complete, and pages for `man`.

pub(super) mod completions;
pub(super) mod man;
