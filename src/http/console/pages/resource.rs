//! Shows a resource: its JSON with links at references, the versions that snapshots still have, and the difference
//! between two of them.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;

use super::super::session::form::Fields;
use super::super::session::operator::Operator;
use super::super::shown::difference::{self, Line};
use super::super::shown::json::linked;
use super::super::shown::label::Label;
use super::super::shown::page::{Frame, html, page_or_error};
use super::super::shown::tenant::Tenant;
use super::super::shown::words::{self, Moment};
use crate::fhir::TypeId;
use crate::fhir::reference::is_id;
use crate::http::error::Error;
use crate::http::fhir::resource_type::resource_type;
use crate::http::service::Service;
use crate::lake::LakeError;

/// The maximum number of snapshots that are searched for versions.
const SNAPSHOTS: u32 = 40;

#[derive(Template)]
#[template(path = "console/resource.html")]
struct Page<'a> {
    frame: &'a Frame,
    name: &'a str,
    id: &'a str,
    label: Label,
    /// The id of the Patient to whose page this page links.
    patient: Option<String>,
    json: String,
    version: i64,
    versions: Vec<Shown>,
    bytes: String,
    /// The version with which the shown version is compared.
    since: Option<i64>,
    difference: Vec<Line>,
}

struct Shown {
    version: i64,
    updated: Moment,
    is_this: bool,
    /// The previous version, if a snapshot still has it.
    before: Option<i64>,
}

/// A version of the resource that a snapshot has.
struct Version {
    version: i64,
    updated: i64,
    resource: Bytes,
}

pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application, name, id)): Path<(String, String, String, String)>,
    RawQuery(sent): RawQuery,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "stored", place.as_ref().ok());
    let work = async {
        let place = place?;
        let type_id = resource_type(&name)?;
        let fields = Fields::of_query(sent.as_deref());
        let wanted = fields.filled("version").and_then(|text| text.parse::<i64>().ok());
        let since = fields.filled("since").and_then(|text| text.parse::<i64>().ok());
        let versions = versions(&service, &place, type_id, &id).await?;
        let Some(at) = chosen(&versions, wanted) else {
            return Err(Error::NotFound {
                resource_type: name.clone(),
                id: id.clone(),
            });
        };
        let resource: Value = serde_json::from_slice(&versions[at].resource).map_err(Error::internal)?;
        let patient = patient_of(&name, &id, &resource);
        match &patient {
            Some(patient) => operator.looks_at(&service, "resource", &place, patient).await?,
            None => {
                operator
                    .looks(&service, "resource", &place, (None, name.clone()))
                    .await?
            }
        }
        let label = Label::of(&resource);
        let since = since.and_then(|since| versions.iter().position(|one| one.version == since));
        let this = &versions[at];
        let page = Page {
            frame: &frame,
            name: &name,
            id: &id,
            label,
            patient,
            json: linked(&this.resource, &frame.root, &place, &service.fhir_base),
            version: this.version,
            bytes: words::bytes(this.resource.len() as u64),
            since: since.map(|since| versions[since].version),
            difference: since.map_or_else(Vec::new, |since| {
                difference::lines(&versions[since].resource, &this.resource)
            }),
            versions: listed(&versions, at),
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
}

/// Returns the index of the requested version, or of the newest if none is requested. `None` if there is no such
/// version.
fn chosen(versions: &[Version], wanted: Option<i64>) -> Option<usize> {
    match wanted {
        None => (!versions.is_empty()).then_some(0),
        Some(wanted) => versions.iter().position(|one| one.version == wanted),
    }
}

fn listed(versions: &[Version], this: usize) -> Vec<Shown> {
    let each = versions.iter().enumerate();
    each.map(|(at, one)| Shown {
        version: one.version,
        updated: words::time(one.updated.div_euclid(1_000_000)),
        is_this: at == this,
        before: versions.get(at + 1).map(|before| before.version),
    })
    .collect()
}

/// Returns the id of the Patient to which a resource refers as its subject.
fn patient_of(name: &str, id: &str, resource: &Value) -> Option<String> {
    if name == "Patient" {
        return Some(id.to_owned());
    }
    Label::of(resource).patient().map(str::to_owned)
}

/// Reads the versions of the resource in the newest snapshots that can still be read. The newest version comes first.
async fn versions(service: &Arc<Service>, place: &Tenant, type_id: TypeId, id: &str) -> Result<Vec<Version>, Error> {
    if !is_id(id) {
        return Ok(Vec::new());
    }
    let (scope, id) = (place.scope(), id.to_owned());
    let turn = service.search_turn("console").await?;
    let reading = service.blocking(move |service| {
        let _turn = turn;
        let mut versions: Vec<Version> = Vec::new();
        let snapshots = service.lake.growth(SNAPSHOTS).map_err(Error::internal)?;
        for size in snapshots {
            let snapshot = match service.lake.snapshot_at(size.snapshot) {
                // The snapshot was released after `growth` had listed it. So skip it.
                Err(LakeError::SnapshotGone(_)) => continue,
                found => found.map_err(Error::internal)?,
            };
            let row = service
                .lake
                .table(&snapshot, type_id, &scope)
                .read(&id)
                .map_err(Error::internal)?;
            if let Some(row) = row
                && versions.iter().all(|known| known.version != row.version)
            {
                versions.push(Version {
                    version: row.version,
                    updated: row.last_updated,
                    resource: row.resource,
                });
            }
        }
        Ok::<_, Error>(versions)
    });
    reading.await?
}
