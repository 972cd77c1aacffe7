//! The steps of the flow: its entry points, its forms, and the redirects to sources and back.

pub(super) mod actions;
pub(super) mod birth_date;
pub(super) mod choosing;
pub(super) mod entry;
pub(super) mod finish;
pub(super) mod interim;
pub(super) mod parameters;
pub(super) mod redirect_uri;
pub(super) mod request;
pub(super) mod session;
pub(super) mod sources;
