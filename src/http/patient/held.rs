//! The attached documents of a record that the service holds, read for the caller.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::fhir::facts;
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::Scope;
use crate::lake::json::Tape;
use crate::patient::Record;
use crate::patient::pdf::{Attached, Attachments, FetchError, addresses};

/// The documents behind the addresses in a record, as far as the scope shows them.
pub(super) async fn held(service: &Service, scope: &Arc<Scope>, record: &Record) -> Result<Attachments, Error> {
    let mut attachments = Attachments::default();
    for url in addresses(record) {
        if let Some(id) = binary_id(&url, &service.fhir_base) {
            let found = read(service, scope, id);
            attachments.insert(url, found);
        }
    }
    Ok(attachments)
}

/// The id of a Binary of ours that an address leads to.
fn binary_id<'u>(url: &'u str, base: &str) -> Option<&'u str> {
    let path = url
        .strip_prefix(base.trim_end_matches('/'))
        .map(|path| path.trim_start_matches('/'));
    let id = path.unwrap_or(url).strip_prefix("Binary/")?;
    crate::fhir::reference::is_id(id).then_some(id)
}

fn read(service: &Service, scope: &Arc<Scope>, id: &str) -> Result<Attached, FetchError> {
    let ty = facts().lookup("Binary").ok_or(FetchError::NotHeld)?;
    let picture = service.lake.picture();
    let row = service
        .lake
        .table(&picture, ty, scope)
        .read(id)
        .map_err(|_| FetchError::Unreadable)?;
    let row = row.ok_or(FetchError::NotHeld)?;
    let mut tape = Tape::new();
    let binary = tape.parse(&row.resource).map_err(|_| FetchError::Unreadable)?;
    let data = binary.get_str("data").ok_or(FetchError::NotHeld)?;
    Ok(Attached {
        content_type: binary.get_str("contentType").map(|text| text.into_owned()),
        bytes: STANDARD.decode(data.as_bytes()).map_err(|_| FetchError::Unreadable)?,
    })
}
