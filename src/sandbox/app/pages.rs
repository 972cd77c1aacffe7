//! The application's pages. How they look, `templates/sandbox/app` says.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::client::Way;
use super::overview::Kind;
use super::record::Summary;
use super::session::NewLink;
use super::share::Link;
use crate::sandbox::payer::answer::page;

/// Where the user begins.
#[derive(Template)]
#[template(path = "sandbox/app/start.html")]
pub(super) struct StartPage<'a> {
    pub(super) user: &'a str,
    pub(super) connected: bool,
    pub(super) service: &'a str,
}

/// A code that a developer redeems by hand.
#[derive(Template)]
#[template(path = "sandbox/app/code.html")]
pub(super) struct CodePage<'a> {
    pub(super) code: &'a str,
}

/// The page of the link component.
#[derive(Template)]
#[template(path = "sandbox/app/link.html")]
pub(super) struct LinkPage<'a> {
    pub(super) user: &'a str,
    pub(super) service: &'a str,
    pub(super) publishable_key: &'a str,
}

/// How far the records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The service is fetching them.
    Fetching,
    There,
    /// The token is no longer good.
    Ended,
    /// The source gave none.
    Failed,
    /// The search was not understood.
    Refused,
}

/// The page of tokens and records.
#[derive(Template)]
#[template(path = "sandbox/app/records.html")]
pub(super) struct RecordsPage<'a> {
    pub(super) user: &'a str,
    pub(super) way: Way,
    pub(super) stage: Stage,
    /// Seconds until the page looks again.
    pub(super) wait: Option<u64>,
    pub(super) status: u16,
    pub(super) total: Option<u64>,
    pub(super) query: &'a str,
    pub(super) answer: String,
    pub(super) access_token: &'a str,
    pub(super) response: String,
    pub(super) refreshable: bool,
    /// What the last button did: its name, the status and the answer.
    pub(super) last: Option<(&'static str, u16, String)>,
}

/// What the records say in short.
#[derive(Template)]
#[template(path = "sandbox/app/overview.html")]
pub(super) struct OverviewPage<'a> {
    pub(super) user: &'a str,
    pub(super) stage: Stage,
    /// Seconds until the page looks again.
    pub(super) wait: Option<u64>,
    pub(super) kinds: Vec<Kind>,
}

/// The summary of the whole record, or why there is none.
#[derive(Template)]
#[template(path = "sandbox/app/summary.html")]
pub(super) struct SummaryPage<'a> {
    pub(super) user: &'a str,
    pub(super) stage: Stage,
    /// Seconds until the page looks again.
    pub(super) wait: Option<u64>,
    pub(super) summary: Summary,
}

/// The health links, and the one that was just made.
#[derive(Template)]
#[template(path = "sandbox/app/share.html")]
pub(super) struct SharePage<'a> {
    pub(super) user: &'a str,
    pub(super) stage: Stage,
    /// Seconds until the page looks again.
    pub(super) wait: Option<u64>,
    pub(super) problem: Option<&'a str>,
    pub(super) made: Option<&'a NewLink>,
    pub(super) links: Vec<Link>,
}

#[derive(Template)]
#[template(path = "sandbox/app/refused.html")]
struct RefusedPage<'a> {
    error: &'a str,
    description: &'a str,
    more: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "sandbox/app/failed.html")]
struct FailedPage<'a> {
    text: &'a str,
}

/// The connection ended without records.
pub(super) fn refused(error: &str, description: &str, more: Option<&str>) -> Response {
    // What comes by a query is shown as a link only where it leads to a page.
    let more = more.filter(|uri| uri.starts_with("https://") || uri.starts_with("http://"));
    let refused = RefusedPage {
        error,
        description,
        more,
    };
    page(StatusCode::OK, &refused)
}

/// Something went wrong that the user cannot mend.
pub(super) fn failed(text: &str) -> Response {
    page(StatusCode::BAD_REQUEST, &FailedPage { text })
}
