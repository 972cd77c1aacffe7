//! The operations `ViewDefinition/$run` and `$validate`.

pub(in crate::http) mod accept;
pub(in crate::http) mod body;
pub(in crate::http) mod format;
pub(in crate::http) mod inline;
pub(in crate::http) mod request;
pub(in crate::http) mod run;
pub(in crate::http) mod source;
pub(in crate::http) mod validate;
