//! A person's whole record: the summary as a page, and downloads of the PDF and of all resources.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::{Answer, File, Unreachable};
use super::pages::{Section, Stage, Summary, SummaryPage, failed, waiting};
use super::reading::text::{named, text};
use super::records::{connection, stage, wait};
use super::state::App;
use crate::sandbox::payer::answer::{page, see_other};

/// The operations on the whole record: the parts of their addresses that follow `/fhir/`.
const EVERYTHING: &str = "Patient/$PATIENT_ID/$everything";
const SUMMARY: &str = "Patient/$PATIENT_ID/$summary";
const PDF: &str = "Patient/$PATIENT_ID/$pdf";

/// Shows the summary.
pub(super) async fn summary(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some((_, session, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    match app.client.fhir(&connection.access_token, SUMMARY).await {
        Ok(answer) if answer.status == 200 => {
            record_page(session.who(), Stage::There, None, Summary::read(&answer.body))
        }
        Ok(answer) => not_yet(&answer),
        Err(error) => failed(&error.to_string()),
    }
}

/// Downloads the PDF under the name that the service gives it.
pub(super) async fn pdf(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some((_, _, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    match app.client.file(&connection.access_token, PDF, "application/pdf").await {
        Ok(Ok(File { name, bytes })) => {
            let name = name.unwrap_or(HeaderValue::from_static("attachment; filename=\"record.pdf\""));
            kept("application/pdf", name, bytes)
        }
        Ok(Err(answer)) => not_yet(&answer),
        Err(error) => failed(&error.to_string()),
    }
}

/// Downloads all resources as one Bundle.
pub(super) async fn everything(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some((_, _, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    match all_pages(&app, &connection.access_token).await {
        Ok(Ok(bundle)) => {
            let name = HeaderValue::from_static("attachment; filename=\"record.json\"");
            kept("application/fhir+json", name, bundle)
        }
        Ok(Err(answer)) => not_yet(&answer),
        Err(Broken::Unreachable(error)) => failed(&error.to_string()),
        Err(Broken::Page) => failed("A page of the record could not be read."),
    }
}

/// A page of a Bundle. The entries are kept as the text that the service sent, so that numbers keep their digits.
#[derive(Deserialize)]
struct Page<'p> {
    #[serde(default)]
    link: Vec<Link>,
    #[serde(default, borrow)]
    entry: Vec<&'p RawValue>,
}

#[derive(Deserialize)]
struct Link {
    relation: String,
    url: String,
}

/// The reason why a page of `$everything` could not be read.
enum Broken {
    Unreachable(Unreachable),
    /// A page is not a Bundle, or its `next` link leads to another server.
    Page,
}

/// Reads all pages of `$everything` and joins them into one Bundle. If the service answers a page with another status
/// than 200, returns this answer in place of the Bundle.
async fn all_pages(app: &App, token: &str) -> Result<Result<String, Answer>, Broken> {
    let service = format!("{}/fhir/", app.client.settings.service);
    let mut query = EVERYTHING.to_owned();
    let mut bundle = r#"{"resourceType":"Bundle","type":"collection","entry":["#.to_owned();
    loop {
        let file = app.client.file(token, &query, "application/fhir+json").await;
        let bytes = match file.map_err(Broken::Unreachable)? {
            Ok(file) => file.bytes,
            Err(answer) => return Ok(Err(answer)),
        };
        let page: Page<'_> = serde_json::from_slice(&bytes).map_err(|_| Broken::Page)?;
        for entry in &page.entry {
            if !bundle.ends_with('[') {
                bundle.push(',');
            }
            bundle.push_str(entry.get());
        }
        let Some(next) = page.link.iter().find(|link| link.relation == "next") else {
            break;
        };
        // The client appends `query` to the address of the service, so the token is never sent to another server. A
        // `next` link to another server is an error.
        next.url
            .strip_prefix(&service)
            .ok_or(Broken::Page)?
            .clone_into(&mut query);
    }
    bundle.push_str("]}");
    Ok(Ok(bundle))
}

/// Returns a response that the browser saves as a file.
pub(super) fn kept(content_type: &'static str, name: HeaderValue, bytes: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(bytes.into()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_DISPOSITION, name);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Returns the page that says why there is no record. While the service fetches the records, the page reloads by
/// itself.
pub(super) fn not_yet(answer: &Answer) -> Response {
    record_page("", stage(answer), wait(answer), Summary::default())
}

fn record_page(who: &str, stage: Stage, wait: Option<u64>, summary: Summary) -> Response {
    let summary = SummaryPage {
        who,
        stage,
        wait,
        summary,
    };
    waiting(page(StatusCode::OK, &summary), wait)
}

impl Summary {
    /// Reads an International Patient Summary: its Composition and its Patient.
    fn read(document: &Value) -> Summary {
        let entries = document["entry"].as_array().into_iter().flatten();
        let resources: Vec<&Value> = entries.map(|entry| &entry["resource"]).collect();
        let of = |name: &str| resources.iter().copied().find(|one| one["resourceType"] == name);
        let (composition, patient) = (of("Composition"), of("Patient"));
        let mut read = Summary {
            name: patient.and_then(|patient| named(&patient["name"][0])),
            born: patient.and_then(|patient| text(&patient["birthDate"])),
            made: composition.and_then(|composition| text(&composition["date"])),
            ..Summary::default()
        };
        // The date of the Composition is a time. Keeps only the day.
        if let Some(at) = read.made.as_ref().and_then(|made| made.find('T')) {
            read.made.iter_mut().for_each(|made| made.truncate(at));
        }
        let sections = composition.and_then(|composition| composition["section"].as_array());
        for section in sections.into_iter().flatten() {
            let title = text(&section["title"]).unwrap_or_default();
            match section["entry"].as_array().map_or(0, Vec::len) {
                0 => read.empty.push(title),
                entries => read.sections.push(Section {
                    title,
                    narrative: text(&section["text"]["div"]).unwrap_or_default(),
                    entries,
                }),
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::MAX_OPEN;
    use super::*;
    use serde_json::json;

    #[test]
    fn sections_with_entries_are_shown_and_the_others_named() {
        let section = |title: &str, entries: usize| {
            let entry = vec![json!({"reference": "x"}); entries];
            let mut section = json!({"title": title, "text": {"div": format!("<div>{title}</div>")}});
            if entries > 0 {
                section["entry"] = entry.into();
            }
            section
        };
        let document = json!({"resourceType": "Bundle", "entry": [
            {"resource": {"resourceType": "Composition", "date": "2026-11-23T10:00:00Z",
                "section": [section("Results", MAX_OPEN + 1), section("Allergies", 0), section("Problems", 1)]}},
            {"resource": {"resourceType": "Patient", "birthDate": "1980-01-02", "name": [{"given": ["Ada", "B."], "family": "Low"}]}}
        ]});
        let summary = Summary::read(&document);
        let shown = |title: &str, entries| Section {
            title: title.to_owned(),
            narrative: format!("<div>{title}</div>"),
            entries,
        };
        let expected = Summary {
            name: Some("Ada B. Low".to_owned()),
            born: Some("1980-01-02".to_owned()),
            made: Some("2026-11-23".to_owned()),
            sections: vec![shown("Results", MAX_OPEN + 1), shown("Problems", 1)],
            empty: vec!["Allergies".to_owned()],
        };
        assert_eq!(summary, expected);
        let open: Vec<bool> = summary.sections.iter().map(Section::is_open).collect();
        assert_eq!(open, [false, true]);
    }
}
