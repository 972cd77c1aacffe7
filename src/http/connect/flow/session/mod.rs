//! Finds the session of a request: its cookie, the token of its forms, and the ticket of a window beside a frame.

pub(in crate::http::connect) mod cookie;
pub(in crate::http::connect) mod ticket;
pub(in crate::http::connect) mod visit;

pub(in crate::http::connect) use visit::FORMS;
