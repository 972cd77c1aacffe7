//! The session of a request: its cookie, the token of its forms, and the ticket of a window beside a frame.

pub(in crate::http::connect) mod cookie;
pub(in crate::http::connect) mod ticket;
pub(in crate::http::connect) mod visit;

use super::super::super::csrf::Csrf;

/// The forms of the flow's pages.
pub(in crate::http::connect) const FORMS: Csrf = Csrf("csrf");
