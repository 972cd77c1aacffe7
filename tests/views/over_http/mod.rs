//! Views over HTTP.

pub(super) mod inline;
mod parquet;
pub(super) mod run;
pub(super) mod validate;
