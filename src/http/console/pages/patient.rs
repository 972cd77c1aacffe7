//! Shows a patient: name and details, the records by type, and their timeline, page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::super::session::form::Fields;
use super::super::session::operator::{Operator, mark};
use super::super::shown::label::Label;
use super::super::shown::page::{Frame, html, page_or_error};
use super::super::shown::tenant::Tenant;
use super::super::shown::words;
use crate::fhir::facts;
use crate::fhir::reference::is_id;
use crate::http::error::Error;
use crate::http::service::Service;
use crate::patient::{Record, record};

/// The maximum number of events on a page of the timeline.
const SHOWN: usize = 50;
/// Types without events of their own: the Patient, and the notes about how records came here.
const NO_EVENTS: [&str; 2] = ["Patient", "Provenance"];

#[derive(Template)]
#[template(path = "console/patient.html")]
struct Page<'a> {
    frame: &'a Frame,
    id: &'a str,
    name: String,
    born: String,
    gender: String,
    mark: String,
    total: String,
    types: Vec<Type>,
    timeline: Timeline,
}

struct Type {
    name: &'static str,
    count: String,
    /// The encoded query that finds the patient's resources of this type. `None` if the type cannot be searched by
    /// patient.
    query: Option<String>,
}

/// A page of the timeline.
struct Timeline {
    /// The types of all events, the number of events of each, and whether only this type is shown.
    types: Vec<(&'static str, String, bool)>,
    /// The type that is shown, encoded for a query. Empty for all types.
    only: String,
    days: Vec<Day>,
    /// The number of all events of the shown types.
    total: String,
    /// The numbers of the page's first and last event, counted from 1.
    first: String,
    last: String,
    /// The numbers of the pages with later and with earlier events, if there are any.
    later: Option<usize>,
    earlier: Option<usize>,
}

/// The events of a day, or of a month or year if their dates are less precise.
struct Day {
    date: String,
    events: Vec<Event>,
}

struct Event {
    resource_type: &'static str,
    id: String,
    label: Label,
}

impl Timeline {
    /// Cuts a page out of the events, which are sorted.
    fn cut(events: Vec<Event>, only: &str, number: usize) -> Timeline {
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        for event in &events {
            *counts.entry(event.resource_type).or_default() += 1;
        }
        let is_shown = |event: &Event| only.is_empty() || event.resource_type == only;
        let events: Vec<Event> = events.into_iter().filter(is_shown).collect();
        let (total, skipped) = (events.len(), (number - 1).saturating_mul(SHOWN));
        let shown: Vec<Event> = events.into_iter().skip(skipped).take(SHOWN).collect();
        let last = skipped.saturating_add(shown.len());
        Timeline {
            types: counts
                .into_iter()
                .map(|(name, count)| (name, words::number(count), name == only))
                .collect(),
            only: super::table::encoded(only),
            total: words::number(total as u64),
            first: words::number((skipped as u64).saturating_add(1)),
            last: words::number(last as u64),
            later: (number > 1).then(|| number - 1),
            earlier: (last < total).then(|| number + 1),
            days: days(shown),
        }
    }
}

/// Groups events that follow each other by their days.
fn days(events: Vec<Event>) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for event in events {
        let date: String = event.label.when.chars().take(10).collect();
        match days.last_mut() {
            Some(day) if day.date == date => day.events.push(event),
            _ => days.push(Day {
                date,
                events: vec![event],
            }),
        }
    }
    days
}

pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application, id)): Path<(String, String, String)>,
    RawQuery(sent): RawQuery,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "stored", place.as_ref().ok());
    let work = async {
        let place = place?;
        checked(&id)?;
        let fields = Fields::of_query(sent.as_deref());
        let number = numbered(&fields)?;
        operator.looks_at(&service, "patient", &place, &id).await?;
        let turn = service.record_turn("console").await?;
        let served = service.clone();
        let reading = |stop| {
            let engine = served.engine.until(stop);
            let (service, scope, patients) = (service.clone(), place.scope(), vec![id.clone()]);
            async move {
                let _turn = turn;
                let now = service.store.clock().now() * 1_000_000;
                let record = record(&engine, &scope, &patients, &[], now).await?;
                Ok::<_, Error>(gathered(&service, &record, &patients[0]))
            }
        };
        let (patient, types, events) = service.workers.run_until(reading).await??;
        let label = Label::of(&patient);
        let page = Page {
            frame: &frame,
            id: &id,
            name: label.what,
            born: label.born,
            gender: label.gender,
            mark: mark(&service, &place, &id),
            total: words::number(types.iter().map(|(_, count)| *count as u64).sum()),
            types: types.into_iter().map(|(shown, _)| shown).collect(),
            timeline: Timeline::cut(events, fields.filled("type").unwrap_or_default(), number),
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
}

/// Reads the number of the requested page of the timeline, by default 1.
fn numbered(fields: &Fields) -> Result<usize, Error> {
    let Some(text) = fields.filled("page") else {
        return Ok(1);
    };
    let number = text.parse::<usize>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Error::Unknown(format!("there is no page {text}")))
}

/// Returns an error if the string is not a valid id.
pub(super) fn checked(id: &str) -> Result<(), Error> {
    if is_id(id) {
        Ok(())
    } else {
        Err(Error::NotFound {
            resource_type: "Patient".to_owned(),
            id: id.to_owned(),
        })
    }
}

/// Returns the Patient, the types with their counts, and the timeline, newest first.
fn gathered(service: &Service, record: &Record, id: &str) -> (Value, Vec<(Type, usize)>, Vec<Event>) {
    let (mut patient, mut types, mut timeline) = (Value::Null, Vec::new(), Vec::new());
    for of_type in &record.types {
        if of_type.rows.is_empty() {
            continue;
        }
        let name = facts().get(of_type.type_id).name;
        let codes: Vec<String> = service
            .engine
            .supported(of_type.type_id)
            .map(|one| one.code.to_string())
            .collect();
        let parameter = match name {
            "Patient" => Some("_id"),
            _ => ["patient", "subject"]
                .into_iter()
                .find(|name| codes.iter().any(|code| code == name)),
        };
        let shown = Type {
            name,
            count: words::number(of_type.rows.len() as u64),
            query: parameter.map(|parameter| {
                // `subject` may refer to several types, so its value must contain the type.
                let of = if parameter == "subject" { "Patient/" } else { "" };
                super::table::encoded(&format!("{parameter}={of}{id}&_count=50"))
            }),
        };
        types.push((shown, of_type.rows.len()));
        for row in &of_type.rows {
            let Ok(resource) = serde_json::from_slice::<Value>(&row.resource) else {
                continue;
            };
            let label = Label::of(&resource);
            if !label.when.is_empty() && !NO_EVENTS.contains(&name) {
                timeline.push(Event {
                    resource_type: name,
                    id: row.id.clone(),
                    label,
                });
            }
            if name == "Patient" && row.id == id {
                patient = resource;
            }
        }
    }
    timeline.sort_by(|one, other| other.label.when.cmp(&one.label.when));
    (patient, types, timeline)
}
