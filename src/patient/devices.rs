//! The patient's Devices. R4's Patient compartment does not include them, so a search by `patient` finds them.

use std::sync::Arc;

use super::error::PatientError;
use super::summary::SummaryError;
use crate::columns::json::{Tape, Value};
use crate::fhir::facts;
use crate::fhir::temporal::Temporal;
use crate::lake::Scope;
use crate::lake::scan::Row;
use crate::search::raw::RawParameter;
use crate::search::{Engine, Gathered, Handling, Request};

/// The number of Devices on one page of the search.
const PAGE: usize = 1_000;

/// Searches for the Devices of these Patients. Returns only Devices that the scope shows. Returns `None` only if the R4
/// tables lack the type Device.
pub(super) async fn devices(
    engine: &Engine,
    scope: &Arc<Scope>,
    patients: &[String],
    now: i64,
) -> Result<Option<Gathered>, PatientError> {
    let patients: Vec<String> = patients.iter().map(|id| format!("Patient/{id}")).collect();
    let Some(type_id) = facts().lookup("Device") else {
        return Ok(None);
    };
    let mut rows = Vec::new();
    loop {
        let before = rows.len();
        let parameters = [
            RawParameter::named("patient", &patients.join(",")),
            RawParameter::named("_count", &PAGE.to_string()),
            RawParameter::named("_offset", &before.to_string()),
        ];
        let request = Request {
            scope,
            type_id,
            compartment: None,
            parameters: &parameters,
            handling: Handling::Strict,
            now,
            base: "",
        };
        let page = engine.search(&request).await?;
        let mut tape = Tape::new();
        let page = tape.parse(&page).map_err(|reason| SummaryError::Unreadable {
            resource_type: "Device",
            reason,
        })?;
        let entries = page.get("entry").into_iter().flat_map(|list| list.items());
        rows.extend(entries.filter_map(|entry| row(entry.get("resource")?)));
        if rows.len() == before || rows.len() % PAGE > 0 {
            return Ok(Some(Gathered {
                type_id,
                is_referred: false,
                rows,
            }));
        }
    }
}

/// Turns a resource of a search page into a row. The version and the time of the row are in the resource's `meta`.
fn row(resource: Value<'_>) -> Option<Row> {
    let meta = resource.get("meta");
    let version = meta.and_then(|meta| meta.get_str("versionId")?.parse().ok());
    let updated = meta.and_then(|meta| Temporal::date_time(&meta.get_str("lastUpdated")?).ok());
    Some(Row {
        id: resource.get_str("id")?.into_owned(),
        resource: resource.raw().to_owned().into(),
        version: version.unwrap_or_default(),
        last_updated: updated.map(|updated| updated.start).unwrap_or_default(),
    })
}
