//! The pages of the sandbox. Their HTML is in `templates/sandbox`.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::super::answer::page;
use super::super::office::people::Person;

/// The login page.
#[derive(Template)]
#[template(path = "sandbox/login.html")]
pub(in crate::sandbox::payer) struct LoginPage<'a> {
    pub(in crate::sandbox::payer) organization: &'a str,
    /// The organization's logo as SVG.
    pub(in crate::sandbox::payer) mark: &'static str,
    pub(in crate::sandbox::payer) flow: &'a str,
    pub(in crate::sandbox::payer) user: &'a str,
    pub(in crate::sandbox::payer) wrong: bool,
    pub(in crate::sandbox::payer) logins: Vec<(String, String)>,
    pub(in crate::sandbox::payer) password: &'a str,
}

/// The page on which a person chooses which records to share.
#[derive(Template)]
#[template(path = "sandbox/consent.html")]
pub(in crate::sandbox::payer) struct ConsentPage<'a> {
    pub(in crate::sandbox::payer) organization: &'a str,
    /// The organization's logo as SVG.
    pub(in crate::sandbox::payer) mark: &'static str,
    pub(in crate::sandbox::payer) flow: &'a str,
    pub(in crate::sandbox::payer) person: &'a Person,
    /// The resource types, each with the words that the page shows for it.
    pub(in crate::sandbox::payer) types: Vec<(&'a str, &'a str)>,
    pub(in crate::sandbox::payer) offline: bool,
    /// Whether the person agreed without choosing any type.
    pub(in crate::sandbox::payer) nothing: bool,
}

/// The page on which a person confirms their identity.
#[derive(Template)]
#[template(path = "sandbox/check.html")]
pub(in crate::sandbox::payer) struct CheckPage<'a> {
    pub(in crate::sandbox::payer) organization: &'a str,
    /// The organization's logo as SVG.
    pub(in crate::sandbox::payer) mark: &'static str,
    pub(in crate::sandbox::payer) flow: &'a str,
    pub(in crate::sandbox::payer) person: &'a Person,
}

/// The start page of the sandbox.
#[derive(Template)]
#[template(path = "sandbox/home.html")]
pub(in crate::sandbox::payer) struct HomePage {
    pub(in crate::sandbox::payer) organizations: Vec<Listed>,
    pub(in crate::sandbox::payer) people: Vec<Person>,
    pub(in crate::sandbox::payer) count: u64,
    pub(in crate::sandbox::payer) password: &'static str,
    pub(in crate::sandbox::payer) client_id: &'static str,
    /// Whether the sandbox also serves the sample application. If so, the page links to it.
    pub(in crate::sandbox::payer) has_app: bool,
}

/// An organization on the start page.
pub(in crate::sandbox::payer) struct Listed {
    pub(in crate::sandbox::payer) name: &'static str,
    pub(in crate::sandbox::payer) kind: &'static str,
    pub(in crate::sandbox::payer) refreshable: bool,
    pub(in crate::sandbox::payer) secret: Option<&'static str>,
    pub(in crate::sandbox::payer) base: String,
}

#[derive(Template)]
#[template(path = "sandbox/message.html")]
struct MessagePage<'a> {
    title: &'a str,
    text: &'a str,
}

#[derive(Template)]
#[template(path = "sandbox/nowhere.html")]
struct NowherePage;

/// Returns the page for an address at which there is nothing.
pub(in crate::sandbox::payer) fn nowhere() -> Response {
    page(StatusCode::NOT_FOUND, &NowherePage)
}

/// Returns a page with a message.
pub(in crate::sandbox::payer) fn message(status: StatusCode, title: &str, text: &str) -> Response {
    page(status, &MessagePage { title, text })
}

/// Returns the page which says that a login has expired or is finished.
pub(in crate::sandbox::payer) fn over() -> Response {
    message(
        StatusCode::BAD_REQUEST,
        "This sign-in is over",
        "It took too long, or it was finished before. Go back to the application and start again.",
    )
}
