//! Access to the console: sign-in by a token of the command line, the page after it, the session's cookie, and CSRF
//! tokens for forms.

pub(super) mod cookie;
pub(super) mod form;
pub(super) mod next;
pub(super) mod operator;
pub(super) mod sign_in;
