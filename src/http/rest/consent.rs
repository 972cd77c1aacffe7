//! `GET /rest/consent` returns the consent of a patient token. `GET /rest/consent/{id}` returns a consent by its id.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::described;
use super::shown::{Extent, ShownConsent};
use crate::consent::Access;
use crate::http::auth::AnyToken;
use crate::http::error::Error;
use crate::http::fhir::negotiate::parameter;
use crate::http::message::Refused;
use crate::http::oauth::PatientToken;
use crate::http::routes::{Operation, Route};
use crate::http::service::Service;
use crate::http::shape::no_store;

const JSON: &str = "application/json";
const SKIP: &str = "skipResourceCounts";

pub(super) fn routes() -> Vec<Route> {
    let skip = json!({"type": "boolean", "default": false, "description": "leave out how many resources there are"});
    let described = |id, summary| {
        let operation = Operation::new(id, summary).query(SKIP, skip.clone());
        operation.answers(&[JSON], &described::consent())
    };
    vec![
        Route::at("/rest/consent").get(
            own,
            described("ownConsent", "The consent that a patient token stands for"),
        ),
        Route::at("/rest/consent/{id}").get(
            by_id,
            described(
                "consent",
                "A consent of the application and mode of the token; of a patient token its own",
            ),
        ),
    ]
}

async fn own(
    State(service): State<Arc<Service>>,
    PatientToken(access): PatientToken,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let id = access.subject.to_string();
    answer(&service, access, id, extent(query.as_deref())?).await
}

async fn by_id(
    State(service): State<Arc<Service>>,
    AnyToken(access): AnyToken,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    answer(&service, access, id, extent(query.as_deref())?).await
}

async fn answer(service: &Arc<Service>, access: Arc<Access>, id: String, extent: Extent) -> Result<Response, Refused> {
    let work = move |service: &Service| -> Result<Response, Refused> {
        let full_consent = service.store.consents().full(&id)?.filter(|full_consent| {
            let (consent, scope) = (&full_consent.consent, &access.scope);
            let own = access.patients().is_none() || *access.subject == *consent.id;
            own && consent.application == *scope.application && consent.mode == scope.mode
        });
        let unknown = || Error::Unknown("There is no consent with this id.".to_owned());
        let full_consent = full_consent.ok_or_else(unknown)?;
        let shown = ShownConsent::of(service, &full_consent, extent)?;
        Ok(no_store(StatusCode::OK, &shown)?)
    };
    service.blocking(work).await?
}

fn extent(query: Option<&str>) -> Result<Extent, Error> {
    match parameter(query, SKIP).as_deref() {
        None | Some("false") => Ok(Extent::Full { counted: true }),
        Some("true") => Ok(Extent::Full { counted: false }),
        Some(_) => Err(Error::Invalid(format!("{SKIP} must be true or false"))),
    }
}
