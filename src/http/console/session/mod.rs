//! Who is let in: signing in by a token of the command line, the cookie of the session, and what shows that a form
//! comes from a page of it.

pub(super) mod cookie;
pub(super) mod csrf;
pub(super) mod form;
pub(super) mod operator;
pub(super) mod sign_in;
