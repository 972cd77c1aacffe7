//! Access to the console: sign-in by a token of the command line, the session's cookie, and CSRF tokens for forms.

pub(super) mod cookie;
pub(super) mod form;
pub(super) mod operator;
pub(super) mod sign_in;

use super::super::csrf::Csrf;

/// The forms of the console's pages.
const FORMS: Csrf = Csrf("console form");
