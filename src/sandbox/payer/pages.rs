//! The pages that people see. How they look, `templates/sandbox` says.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::answer::page;
use super::people::Person;

/// Where a person logs in.
#[derive(Template)]
#[template(path = "sandbox/login.html")]
pub(super) struct LoginPage<'a> {
    pub(super) organization: &'a str,
    pub(super) flow: &'a str,
    pub(super) user: &'a str,
    pub(super) wrong: bool,
    pub(super) logins: Vec<(String, String)>,
    pub(super) password: &'a str,
}

/// Where a person says what they share.
#[derive(Template)]
#[template(path = "sandbox/consent.html")]
pub(super) struct ConsentPage<'a> {
    pub(super) organization: &'a str,
    pub(super) flow: &'a str,
    pub(super) person: &'a Person,
    /// Resource types and what they are called.
    pub(super) types: Vec<(&'a str, &'a str)>,
    pub(super) offline: bool,
    /// Whether they had chosen nothing.
    pub(super) nothing: bool,
}

/// Where a person confirms who they are.
#[derive(Template)]
#[template(path = "sandbox/check.html")]
pub(super) struct CheckPage<'a> {
    pub(super) organization: &'a str,
    pub(super) flow: &'a str,
    pub(super) person: &'a Person,
}

/// What there is in the sandbox.
#[derive(Template)]
#[template(path = "sandbox/home.html")]
pub(super) struct HomePage {
    pub(super) organizations: Vec<Listed>,
    pub(super) people: Vec<Person>,
    pub(super) count: u64,
    pub(super) password: &'static str,
    pub(super) client_id: &'static str,
    /// Whether the sample application is served beside.
    pub(super) has_app: bool,
}

/// An organization on the start page.
pub(super) struct Listed {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) refreshable: bool,
    pub(super) secret: Option<&'static str>,
    pub(super) base: String,
}

#[derive(Template)]
#[template(path = "sandbox/message.html")]
struct MessagePage<'a> {
    title: &'a str,
    text: &'a str,
}

/// A page that only says something.
pub(super) fn message(status: StatusCode, title: &str, text: &str) -> Response {
    page(status, &MessagePage { title, text })
}

/// The login that a page belongs to is not known any more.
pub(super) fn over() -> Response {
    message(
        StatusCode::BAD_REQUEST,
        "This sign-in is over",
        "It took too long, or it was finished before. Go back to the application and start again.",
    )
}
