//! Shows a patient: name and details, the records by type, and their timeline.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

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

/// The maximum number of entries in the timeline. The newest are shown.
const SHOWN: usize = 300;

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
    timeline: Vec<Event>,
    /// The number of events that are not shown, because the timeline has too many.
    left: usize,
}

struct Type {
    name: &'static str,
    count: String,
    /// The encoded query that finds the patient's resources of this type. `None` if the type cannot be searched by
    /// patient.
    query: Option<String>,
}

struct Event {
    when: String,
    resource_type: &'static str,
    id: String,
    label: Label,
}

pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application, id)): Path<(String, String, String)>,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "stored", place.as_ref().ok());
    let work = async {
        let place = place?;
        checked(&id)?;
        operator.looks_at(&service, "patient", &place, &id).await?;
        let turn = service.record_turn("console").await?;
        let reading = {
            let (service, scope, patients) = (service.clone(), place.scope(), vec![id.clone()]);
            async move {
                let _turn = turn;
                let now = service.store.clock().now() * 1_000_000;
                let record = record(&service.engine, &scope, &patients, &[], now).await?;
                Ok::<_, Error>(gathered(&service, &record, &patients[0]))
            }
        };
        let (patient, types, mut timeline) = service.workers.run(reading).await??;
        let left = timeline.len().saturating_sub(SHOWN);
        timeline.truncate(SHOWN);
        let label = Label::of(&patient);
        let page = Page {
            frame: &frame,
            id: &id,
            name: label.what,
            born: patient["birthDate"].as_str().unwrap_or_default().to_owned(),
            gender: patient["gender"].as_str().unwrap_or_default().to_owned(),
            mark: mark(&service, &place, &id),
            total: words::number(types.iter().map(|(_, count)| *count as u64).sum()),
            types: types.into_iter().map(|(shown, _)| shown).collect(),
            timeline,
            left,
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
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
            if !label.when.is_empty() && name != "Patient" {
                timeline.push(Event {
                    when: label.when.chars().take(10).collect(),
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
