//! The application's pages. Their look is in `templates/sandbox/app`.

use askama::Template;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::client::Way;
use super::reading::entry::Entry;
use super::reading::medicines::Medicine;
use super::reading::page::Part;
use super::reading::results::Series;
use super::reading::timeline::Month;
use super::session::NewLink;
use crate::sandbox::payer::answer::page;

/// Sections of the summary with more entries than this are collapsed at first.
pub(super) const MAX_OPEN: usize = 8;

/// The start page.
#[derive(Template)]
#[template(path = "sandbox/app/start.html")]
pub(super) struct StartPage<'a> {
    pub(super) user: &'a str,
    pub(super) connected: bool,
    pub(super) service: &'a str,
}

/// The page with an authorization code that a developer exchanges by hand.
#[derive(Template)]
#[template(path = "sandbox/app/code.html")]
pub(super) struct CodePage<'a> {
    pub(super) code: &'a str,
}

/// The page with the link component.
#[derive(Template)]
#[template(path = "sandbox/app/link.html")]
pub(super) struct LinkPage<'a> {
    pub(super) user: &'a str,
    pub(super) service: &'a str,
    pub(super) publishable_key: &'a str,
}

/// The state of the records, which the status of a search shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The service is fetching the records.
    Fetching,
    There,
    /// The token is invalid.
    Ended,
    /// The source delivered no records.
    Failed,
    /// The service refused the search.
    Refused,
}

/// The person whose records are shown.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) name: Option<String>,
    pub(super) born: Option<String>,
}

/// The page of the timeline, month by month.
#[derive(Template)]
#[template(path = "sandbox/app/timeline.html")]
pub(super) struct TimelinePage<'a> {
    /// The name of the person, for the header. It is empty if it is unknown.
    pub(super) who: &'a str,
    pub(super) head: Head,
    /// For each list to which the page links: the last part of its page's address, its name, and its number of entries.
    pub(super) counts: [(&'static str, &'static str, usize); 3],
    pub(super) months: Vec<Month>,
    /// The number of the page with later events. `after` is the number of the page with earlier events.
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    pub(super) total: usize,
}

/// The page of current and earlier medicines.
#[derive(Template)]
#[template(path = "sandbox/app/medicines.html")]
pub(super) struct MedicinesPage<'a> {
    /// The name of the person, for the header. It is empty if it is unknown.
    pub(super) who: &'a str,
    pub(super) part: Part<Medicine>,
    /// The number of medicines on all pages of the list that the person takes now.
    pub(super) current: usize,
}

/// The page of visits with their diagnoses and procedures.
#[derive(Template)]
#[template(path = "sandbox/app/visits.html")]
pub(super) struct VisitsPage<'a> {
    /// The name of the person, for the header. It is empty if it is unknown.
    pub(super) who: &'a str,
    pub(super) part: Part<Entry>,
}

/// The page of lab values, or of vital signs.
#[derive(Template)]
#[template(path = "sandbox/app/results.html")]
pub(super) struct ResultsPage<'a> {
    /// The name of the person, for the header. It is empty if it is unknown.
    pub(super) who: &'a str,
    pub(super) is_vital: bool,
    pub(super) part: Part<Series>,
}

impl ResultsPage<'_> {
    /// Returns the beginning of the address of each page of this list. The template appends the page's number.
    fn path(&self) -> &'static str {
        if self.is_vital {
            "/app/results?of=vitals&"
        } else {
            "/app/results?"
        }
    }
}

/// The page that is shown while there are no records. It says why there are none.
#[derive(Template)]
#[template(path = "sandbox/app/waiting.html")]
pub(super) struct WaitingPage {
    pub(super) stage: Stage,
    /// The seconds between two checks whether the records are there. The page's script makes the checks, and reloads
    /// the page when `stage` has changed. `None` if the page makes no checks.
    pub(super) wait: Option<u64>,
}

/// A resource that a search on the developer page found. The page shows it on one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Type and id, such as `Encounter/1`.
    pub(super) name: String,
    pub(super) title: String,
    pub(super) when: Option<String>,
}

/// The page for developers, with searches and tokens.
#[derive(Template)]
#[template(path = "sandbox/app/developer.html")]
pub(super) struct DeveloperPage<'a> {
    /// The name of the person, for the header. It is empty if it is unknown.
    pub(super) who: &'a str,
    /// The application's own identifier of the user.
    pub(super) user: &'a str,
    pub(super) way: Way,
    pub(super) stage: Stage,
    /// The seconds between two checks whether the records are there. The page's script makes the checks, and reloads
    /// the page when `stage` has changed. `None` if the page makes no checks.
    pub(super) wait: Option<u64>,
    pub(super) status: u16,
    pub(super) total: Option<u64>,
    pub(super) listed: Vec<Listed>,
    pub(super) query: &'a str,
    pub(super) answer: String,
    pub(super) access_token: &'a str,
    pub(super) response: String,
    pub(super) refreshable: bool,
    /// The call of the last pressed button: its name, the status and the body of the answer.
    pub(super) last: Option<(&'static str, u16, String)>,
}

/// A section of the overview page with the entries of one kind, such as the visits. `nothing` is its text if it has no
/// entries.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    pub(super) nothing: &'static str,
    pub(super) entries: Vec<Entry>,
}

/// The overview page.
#[derive(Template)]
#[template(path = "sandbox/app/overview.html")]
pub(super) struct OverviewPage<'a> {
    /// The name of the person, for the header. It is empty if it is unknown.
    pub(super) who: &'a str,
    pub(super) kinds: Vec<Kind>,
}

/// A section of the summary that has entries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) title: String,
    /// The section's narrative. The template writes it as HTML without escaping. This is safe, because the service
    /// generates the narrative as a table in which all text is escaped.
    pub(super) narrative: String,
    pub(super) entries: usize,
}

impl Section {
    pub(super) fn is_open(&self) -> bool {
        self.entries <= MAX_OPEN
    }
}

/// The data of the summary's page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) name: Option<String>,
    pub(super) born: Option<String>,
    pub(super) made: Option<String>,
    pub(super) sections: Vec<Section>,
    /// The titles of the sections without entries.
    pub(super) empty: Vec<String>,
}

/// The page of the summary. If there is no summary, the page says why.
#[derive(Template)]
#[template(path = "sandbox/app/summary.html")]
pub(super) struct SummaryPage<'a> {
    /// The name of the person, for the header. It is empty if it is unknown.
    pub(super) who: &'a str,
    pub(super) stage: Stage,
    /// The seconds between two checks whether the records are there. The page's script makes the checks, and reloads
    /// the page when `stage` has changed. `None` if the page makes no checks.
    pub(super) wait: Option<u64>,
    pub(super) summary: Summary,
}

/// A health link in the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) id: String,
    pub(super) label: Option<String>,
    pub(super) is_card: bool,
    pub(super) has_passcode: bool,
    pub(super) until: String,
    pub(super) uses: u64,
}

/// The page of the health links. It also shows the link that was just created.
#[derive(Template)]
#[template(path = "sandbox/app/share.html")]
pub(super) struct SharePage<'a> {
    /// The name of the person, for the header. It is empty if it is unknown.
    pub(super) who: &'a str,
    pub(super) stage: Stage,
    /// The seconds between two checks whether the records are there. The page's script makes the checks, and reloads
    /// the page when `stage` has changed. `None` if the page makes no checks.
    pub(super) wait: Option<u64>,
    pub(super) problem: Option<&'a str>,
    pub(super) made: Option<&'a NewLink>,
    pub(super) links: Vec<Link>,
}

/// The page of the privacy policy.
#[derive(Template)]
#[template(path = "sandbox/app/policy/privacy.html")]
pub(super) struct PrivacyPage;

/// The page of the terms of use.
#[derive(Template)]
#[template(path = "sandbox/app/policy/terms.html")]
pub(super) struct TermsPage;

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

/// The resources that a page loads in addition to the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loads {
    /// The picture of a QR code, embedded in the page.
    Picture,
    /// The link component: a script and a frame from the service.
    Link,
    /// The script that checks again whether the records are there.
    Wait,
}

/// If `wait` is given, allows the page to load the script that checks again whether the records are there.
pub(super) fn waiting(response: Response, wait: Option<u64>) -> Response {
    match wait {
        Some(_) => loading(response, Loads::Wait),
        None => response,
    }
}

/// Allows a page to load these resources in addition to the style sheet. `bounded` then writes them into the page's
/// Content-Security-Policy.
pub(super) fn loading(mut response: Response, loads: Loads) -> Response {
    response.extensions_mut().insert(loads);
    response
}

/// Sets the Content-Security-Policy of a page: what the page may load, and to which addresses its forms may lead. The
/// form that connects records leads to `service`, the origin of the service. A response that has no
/// Content-Security-Policy is not a page, and is not changed.
pub(super) fn bounded(mut response: Response, service: &str) -> Response {
    let headers = response.headers();
    if !headers.contains_key(CONTENT_SECURITY_POLICY) {
        return response;
    }
    let more = match response.extensions().get::<Loads>() {
        None => String::new(),
        Some(Loads::Picture) => "img-src data:; ".to_owned(),
        Some(Loads::Link) => format!("script-src 'self' {service}; frame-src {service}; "),
        Some(Loads::Wait) => "script-src 'self'; connect-src 'self'; ".to_owned(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'self'; {more}form-action 'self' {service}; base-uri 'none'; frame-ancestors 'none'"
    );
    // If the service's address contains characters that a header must not have, the page may load nothing.
    let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// Returns the page for a connection that failed. `error`, `description` and `more` are `error`, `error_description`
/// and `error_uri` of the OAuth error.
pub(super) fn refused(error: &str, description: &str, more: Option<&str>) -> Response {
    // `more` comes from the query. So it becomes a link only if it is an HTTP or HTTPS address.
    let more = more.filter(|uri| uri.starts_with("https://") || uri.starts_with("http://"));
    let refused = RefusedPage {
        error,
        description,
        more,
    };
    page(StatusCode::OK, &refused)
}

/// Returns the page for an error that the user cannot correct.
pub(super) fn failed(text: &str) -> Response {
    page(StatusCode::BAD_REQUEST, &FailedPage { text })
}
