//! Views over HTTP.

pub(super) mod inline;
pub(super) mod run;
pub(super) mod validate;
