//! Access to the console: sign-in by a token from the command line, the page that opens after it, the session's
//! cookie, and the CSRF tokens of forms.

pub(super) mod cookie;
pub(super) mod form;
pub(super) mod next;
pub(super) mod operator;
pub(super) mod sign_in;
