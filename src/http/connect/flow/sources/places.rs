//! Connects the places that hold a patient's records. A record locator finds these places. The patient does not sign in
//! at them.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;

use super::super::session::visit::stored;
use super::granted::granted;
use super::travel::{configuration, patiently, registration};
use crate::consent::{
    self, Authorization, AuthorizationType, Departure, Details, Endpoint, EndpointStatus, Flow, FlowError,
    RecordLocation, SessionKey, Trouble, Verified,
};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::sync::client::{self, Demographics, Facility};

/// The maximum number of places that are connected concurrently.
const AT_ONCE: usize = 8;

/// Finds the places that hold a verified person's records. Also returns the ID token that proves the identity,
/// encrypted.
pub(in crate::http::connect) async fn of_identity(
    service: &Arc<Service>,
    flow: &Flow,
    provider: &str,
    id_token: &str,
    demographics: &Demographics,
) -> Result<Result<(Verified, Vec<RecordLocation>), Trouble>, Error> {
    let found = match locate(service, flow, demographics, Some(id_token)).await? {
        Ok(found) => found,
        Err(trouble) => return Ok(Err(trouble)),
    };
    let sealed = service
        .store
        .seal(&purpose(flow.key), id_token.as_bytes())
        .map_err(Error::internal)?;
    let verified = Verified {
        provider: provider.to_owned(),
        sealed: STANDARD.encode(sealed),
    };
    Ok(Ok((verified, found)))
}

/// Finds the places that hold records of a person with the details that the patient entered.
pub(in crate::http::connect) async fn of_details(
    service: &Arc<Service>,
    flow: &Flow,
    details: &Details,
) -> Result<Result<Vec<RecordLocation>, Trouble>, Error> {
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let demographics = Demographics {
        given: details.given.clone(),
        family: details.family.clone(),
        birth_date: details.birth_date.clone(),
        gender: some(&details.gender),
        postal_code: some(&details.postal_code),
    };
    locate(service, flow, &demographics, None).await
}

async fn locate(
    service: &Arc<Service>,
    flow: &Flow,
    demographics: &Demographics,
    id_token: Option<&str>,
) -> Result<Result<Vec<RecordLocation>, Trouble>, Error> {
    let mode = flow.consent.mode;
    let locator = stored(service, move |service| service.store.record_locators().get(mode)).await?;
    let Some(locator) = locator.map_err(Error::internal)? else {
        tracing::warn!("no record locator is set up");
        return Ok(Err(Trouble::Down));
    };
    let facilities = match patiently(service.sources.locate(&locator, demographics, id_token)).await {
        Ok(facilities) => facilities,
        Err(error) => {
            tracing::warn!(%error, "the record locator did not answer as it should");
            return Ok(Err(Trouble::Down));
        }
    };
    let known = stored(service, move |service| known(service, mode, facilities));
    Ok(Ok(known.await?.map_err(Error::internal)?))
}

/// Returns the facilities that can be connected: those whose FHIR base URL is the URL of an available endpoint.
fn known(
    service: &Service,
    mode: crate::lake::Mode,
    facilities: Vec<Facility>,
) -> Result<Vec<RecordLocation>, consent::Error> {
    let mut places: Vec<RecordLocation> = Vec::new();
    for facility in facilities {
        let endpoint = service.store.endpoints().by_base(mode, &facility.fhir_base)?;
        let Some(endpoint) = endpoint.filter(|endpoint| endpoint.status != EndpointStatus::Unavailable) else {
            continue;
        };
        // An authorization covers one Patient of an endpoint. So if several facilities have the same endpoint, use the
        // first one.
        if !places.iter().any(|place| place.endpoint == endpoint.id) {
            places.push(RecordLocation {
                endpoint: endpoint.id,
                name: facility.name,
                patient: facility.patient,
            });
        }
    }
    Ok(places)
}

/// A place that is being connected.
pub(in crate::http::connect) struct Connecting {
    endpoint: Endpoint,
    place: RecordLocation,
    authorization: Authorization,
}

/// Returns the type of the authorizations for the places that a record locator found: `Ial2` if an identity provider
/// has verified the patient, `Ial1` otherwise.
pub(in crate::http::connect) fn type_of(flow: &Flow) -> AuthorizationType {
    match flow.progress.verified {
        Some(_) => AuthorizationType::Ial2,
        None => AuthorizationType::Ial1,
    }
}

/// Stores that the patient agreed to connect some of the found places. `chosen` are the ids of their endpoints.
pub(in crate::http::connect) async fn agreed(
    service: &Arc<Service>,
    flow: &Flow,
    chosen: Vec<String>,
) -> Result<Result<Vec<Connecting>, FlowError>, Error> {
    let key = flow.key;
    let authorization_type = type_of(flow);
    let begun = stored(service, move |service| {
        let mut endpoints = Vec::new();
        for id in &chosen {
            endpoints.extend(service.store.endpoints().get(id)?);
        }
        let departures: Vec<Departure<'_>> = endpoints
            .iter()
            .map(|endpoint| Departure {
                endpoint: &endpoint.id,
                authorization_type,
                refreshable: endpoint.refreshable,
            })
            .collect();
        let connecting = service.store.flows().connect_places(key, &departures)?;
        Ok(connecting
            .into_iter()
            .filter_map(|(place, authorization)| {
                let endpoint = endpoints.iter().find(|endpoint| endpoint.id == place.endpoint)?.clone();
                Some(Connecting {
                    endpoint,
                    place,
                    authorization,
                })
            })
            .collect())
    });
    begun.await
}

/// Connects places concurrently. If one cannot be connected, its authorization records that it failed.
pub(in crate::http::connect) async fn connect(
    service: &Arc<Service>,
    flow: &Flow,
    connecting: Vec<Connecting>,
) -> Result<Result<(), FlowError>, Error> {
    let key = flow.key;
    let id_token = match &flow.progress.verified {
        None => None,
        Some(verified) => Some(opened(service, key, verified)?),
    };
    let id_token = id_token.as_deref();
    let outcomes = futures::stream::iter(connecting)
        .map(|connecting| one(service, flow, connecting, id_token))
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    let answered = stored(service, move |service| service.store.flows().places_answered(key)).await?;
    for outcome in outcomes {
        if let Err(error) = outcome? {
            return Ok(Err(error));
        }
    }
    Ok(answered)
}

async fn one(
    service: &Arc<Service>,
    flow: &Flow,
    connecting: Connecting,
    id_token: Option<&str>,
) -> Result<Result<(), FlowError>, Error> {
    let Connecting {
        endpoint,
        place,
        authorization,
    } = connecting;
    let registration = registration(service, &endpoint, authorization.usage).await?;
    let access = match configuration(service, &endpoint).await? {
        Ok(configuration) => {
            let sources = &service.sources;
            match id_token {
                Some(token) => patiently(sources.assert_identity(&configuration, &registration, token)).await,
                None => patiently(sources.access_located(&configuration, &registration, &place.patient)).await,
            }
        }
        Err(error) => Err(error),
    };
    let key = flow.key;
    match access {
        Ok(grant) => {
            let grant = client::Grant {
                patient: grant.patient.or(Some(place.patient)),
                ..grant
            };
            let taken = granted(service, key, authorization, flow, &endpoint, grant, id_token).await?;
            Ok(taken.map(|_| ()))
        }
        Err(error) => {
            tracing::warn!(endpoint = endpoint.id, %error, "a place could not be connected");
            stored(service, move |service| {
                service
                    .store
                    .flows()
                    .source_failed(key, &authorization.id, Trouble::Down)
            })
            .await
        }
    }
}

fn opened(service: &Service, key: SessionKey, verified: &Verified) -> Result<String, Error> {
    let sealed = STANDARD.decode(&verified.sealed).map_err(Error::internal)?;
    let plain = service.store.unseal(&purpose(key), &sealed).map_err(Error::internal)?;
    String::from_utf8(plain).map_err(Error::internal)
}

fn purpose(key: SessionKey) -> String {
    format!("identity/{}", key.text())
}
