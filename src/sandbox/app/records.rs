//! The pages with the records of a connection: the timeline, medicines, visits and results. Other pages, too, call this
//! file to run searches, and to show why there are no records yet.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures::future::try_join_all;
use serde_json::Value;

use super::client::Answer;
use super::pages::{
    Head, MedicinesPage, ResultsPage, Stage, TimelinePage, VisitsPage, WaitingPage, failed, waiting as looking_again,
};
use super::reading::entry::visit;
use super::reading::medicines::medicines;
use super::reading::page::Part;
use super::reading::results::series;
use super::reading::text::{resources, said_day};
use super::reading::timeline::{Records, months, timeline};
use super::session::{Connection, Session};
use super::state::App;
use crate::sandbox::payer::answer::{page, see_other};
use crate::sandbox::payer::params::Params;

/// The seconds between two checks of a page whether the records are there. It is used while the service fetches the
/// records, if the service does not say when to try again.
const WAIT: u64 = 3;
/// The maximum number of entries on one page of the timeline. The other constants are those of the other lists.
const EVENTS: usize = 18;
const MEDICINES: usize = 12;
const VISITS: usize = 10;
const SERIES: usize = 12;
/// The searches of the lists: the parts of their addresses that follow `/fhir/`. Of each search, only the first page of
/// results is read.
const PATIENT: &str = "Patient?_count=1";
const ENCOUNTERS: &str = "Encounter?patient=$PATIENT_ID&_sort=-date&_count=1000";
const LABORATORY: &str = "Observation?patient=$PATIENT_ID&category=laboratory&_sort=-date&_count=1000";
const VITAL_SIGNS: &str = "Observation?patient=$PATIENT_ID&category=vital-signs&_sort=-date&_count=1000";
const REPORTS: &str = "DiagnosticReport?patient=$PATIENT_ID&category=LAB&_sort=-date&_count=1000";
const ORDERS: &str = "MedicationRequest?patient=$PATIENT_ID&_sort=-authoredon&_count=1000";
const STATEMENTS: &str = "MedicationStatement?patient=$PATIENT_ID&_count=1000";
const DISPENSES: &str = "MedicationDispense?patient=$PATIENT_ID&_count=1000";
const VACCINES: &str = "Immunization?patient=$PATIENT_ID&_sort=-date&_count=1000";
const CONDITIONS: &str = "Condition?patient=$PATIENT_ID&_count=1000";
const PROCEDURES: &str = "Procedure?patient=$PATIENT_ID&_count=1000";

/// Shows the timeline, newest events first.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    // An address with a search belongs to the developer page, so redirect to that page.
    if params.get("query").is_some() {
        let base = &app.client.settings.base_url;
        return see_other(&format!("{base}/app/developer?{}", query.unwrap_or_default()));
    }
    let number = numbered(&params);
    let key = app.sessions.of(&headers).map(|(key, _)| key);
    let queries = [
        PATIENT, ENCOUNTERS, LABORATORY, REPORTS, ORDERS, STATEMENTS, VACCINES, CONDITIONS, PROCEDURES,
    ];
    with_records(&app, &headers, queries, |_, found: [Vec<Value>; 9]| {
        let [
            patients,
            visits,
            results,
            reports,
            orders,
            statements,
            vaccines,
            conditions,
            procedures,
        ] = &found;
        let records = Records {
            visits,
            results,
            reports,
            orders,
            vaccines,
            conditions,
            procedures,
        };
        let part = Part::of(timeline(&records), number, EVENTS);
        // MedicationStatements are included, so that the number is the same as on the page of medicines.
        let current = medicines(&[&orders[..], statements].concat(), &[]);
        let current = current.iter().filter(|one| one.is_current).count();
        let head = head(patients.first());
        // The pages that do not read the Patient show this name, too.
        if let Some(key) = &key {
            app.sessions.change(key, |session| session.name.clone_from(&head.name));
        }
        let name = head.name.clone().unwrap_or_default();
        let timeline = TimelinePage {
            who: &name,
            head,
            counts: [
                ("visits", "Visits", visits.len()),
                ("medicines", "Medicines now", current),
                ("results", "Lab values", results.len()),
            ],
            before: part.before,
            after: part.after,
            total: part.total,
            months: months(part.shown),
        };
        page(StatusCode::OK, &timeline)
    })
    .await
}

/// Shows current and earlier medicines.
pub(super) async fn show_medicines(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let number = numbered(&Params::parse(query.as_deref().unwrap_or_default().as_bytes()));
    let queries = [ORDERS, STATEMENTS, DISPENSES];
    with_records(&app, &headers, queries, |who, found: [Vec<Value>; 3]| {
        let [mut orders, statements, dispenses] = found;
        orders.extend(statements);
        let all = medicines(&orders, &dispenses);
        let current = all.iter().filter(|one| one.is_current).count();
        let part = Part::of(all, number, MEDICINES);
        page(StatusCode::OK, &MedicinesPage { who, part, current })
    })
    .await
}

/// Shows visits with their diagnoses and procedures.
pub(super) async fn show_visits(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let number = numbered(&Params::parse(query.as_deref().unwrap_or_default().as_bytes()));
    let queries = [ENCOUNTERS, CONDITIONS, PROCEDURES];
    with_records(&app, &headers, queries, |who, found: [Vec<Value>; 3]| {
        let [visits, conditions, procedures] = &found;
        let visits: Vec<_> = visits.iter().map(|one| visit(one, conditions, procedures)).collect();
        let part = Part::of(visits, number, VISITS);
        page(StatusCode::OK, &VisitsPage { who, part })
    })
    .await
}

/// Shows lab values or vital signs, each series with its chart.
pub(super) async fn show_results(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    let is_vital = params.text("of") == "vitals";
    let queries = [if is_vital { VITAL_SIGNS } else { LABORATORY }];
    let number = numbered(&params);
    with_records(&app, &headers, queries, |who, [observations]: [Vec<Value>; 1]| {
        let part = Part::of(series(&observations), number, SERIES);
        page(StatusCode::OK, &ResultsPage { who, is_vital, part })
    })
    .await
}

/// Returns the number of the requested page of a list. It is 1 if the address has no number.
fn numbered(params: &Params) -> usize {
    params.text("page").parse().unwrap_or(1)
}

/// Returns the name and the birth date of the person whose records are shown.
fn head(patient: Option<&Value>) -> Head {
    let Some(patient) = patient else { return Head::default() };
    Head {
        name: super::reading::text::named(&patient["name"][0]),
        born: patient["birthDate"].as_str().map(said_day),
    }
}

/// Runs all searches at the same time. Passes the name of the person, which may be empty, and the found resources to
/// `shown`, which returns the page. If a search fails, returns a page that says why there are no records.
pub(super) async fn with_records<const N: usize>(
    app: &App,
    headers: &HeaderMap,
    queries: [&str; N],
    shown: impl FnOnce(&str, [Vec<Value>; N]) -> Response,
) -> Response {
    let Some((_, session, connection)) = connection(app, headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    let token = &connection.access_token;
    match try_join_all(queries.map(|query| app.client.fhir(token, query))).await {
        Ok(answers) => match all_found(answers) {
            Ok(found) => shown(session.who(), found),
            Err(answer) => not_there(&answer),
        },
        Err(error) => failed(&error.to_string()),
    }
}

/// Returns the found resources of each answer. If an answer has another status than 200, returns the first such answer
/// as the error.
fn all_found<const N: usize>(answers: Vec<Answer>) -> Result<[Vec<Value>; N], Answer> {
    let mut found: [Vec<Value>; N] = std::array::from_fn(|_| Vec::new());
    for (kept, answer) in found.iter_mut().zip(answers) {
        if answer.status != 200 {
            return Err(answer);
        }
        *kept = resources(answer.body);
    }
    Ok(found)
}

/// Returns the page that says why there are no records. While the service fetches them, the page checks again by
/// itself.
pub(super) fn not_there(answer: &Answer) -> Response {
    let waiting = WaitingPage {
        stage: stage(answer),
        wait: wait(answer),
    };
    looking_again(page(StatusCode::OK, &waiting), waiting.wait)
}

pub(super) fn connection(app: &App, headers: &HeaderMap) -> Option<(String, Session, Connection)> {
    let (name, session) = app.sessions.of(headers)?;
    let connection = session.connection.clone()?;
    Some((name, session, connection))
}

/// Derives the state of the records from the status of a search.
pub(super) fn stage(answer: &Answer) -> Stage {
    match answer.status {
        200 => Stage::There,
        429 => Stage::Fetching,
        401 => Stage::Ended,
        422 => Stage::Failed,
        _ => Stage::Refused,
    }
}

/// Returns the seconds between two checks of a page whether the records are there. `None` if the service is not
/// fetching records.
pub(super) fn wait(answer: &Answer) -> Option<u64> {
    (stage(answer) == Stage::Fetching).then(|| answer.wait.unwrap_or(WAIT))
}
