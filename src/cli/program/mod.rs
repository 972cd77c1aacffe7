//! Commands about the program itself: shell completions, and pages for `man`.

pub(super) mod completions;
pub(super) mod man;
