//! Access to the console: sign-in by a token of the command line, the page after it, the session's cookie, and CSRF
//! tokens for forms.

pub(super) mod cookie;
pub(super) mod form;
pub(super) mod next;
pub(super) mod operator;
pub(super) mod sign_in;

use super::super::csrf::Csrf;

/// The header in which a browser states the site of a form, or of the page with a link.
const SITE: &str = "sec-fetch-site";
/// The forms of the console's pages.
const FORMS: Csrf = Csrf("console form");
