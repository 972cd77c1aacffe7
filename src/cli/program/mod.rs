//! Commands about the program itself: shell completions, pages for `man`, and the process that reads attachments.

pub(super) mod completions;
pub(super) mod man;
pub(super) mod read_attachments;
