//! Views on the command line.

pub(super) mod examples;
pub(super) mod run;
pub(super) mod run_several;
pub(super) mod validate_view;
