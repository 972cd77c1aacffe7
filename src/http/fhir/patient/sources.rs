//! Finds the sources of the records in a PDF, and the scope through which each source's records are read.

use std::sync::Arc;

use super::subject::Named;
use crate::consent::{self, Access, Authorization, AuthorizationState, AuthorizationType, ConsentWithSources, Store};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::{Mode, Scope};
use crate::patient::pdf::{Source, SourceKind, endpoint_of};

/// A source whose records are to be read.
pub(super) struct Chosen {
    pub(super) source: Source,
    pub(super) scope: Arc<Scope>,
    pub(super) patients: Vec<String>,
    /// The scope for reading the records' documents: that of the patient alone, even if the caller is an application
    /// that may see more.
    pub(super) own: Arc<Scope>,
    /// The authorization for fetching documents that are not in the lake. `None` if no flow connected the source.
    pub(super) authorization: Option<Authorization>,
    /// Whether there may be stored records. `false` if the first sync failed.
    pub(super) has_records: bool,
}

/// Returns the requested sources, each with its scopes. `only` is the id of an authorization: if it is given, only the
/// source of this authorization is returned. If no consent covers the records, returns one source: that of the endpoint
/// in their Patient's tag.
pub(super) fn chosen(
    service: &Service,
    access: &Access,
    named: &Named,
    only: Option<&str>,
) -> Result<Vec<Chosen>, Error> {
    // For an application token, use the consent of the authorization, or else the one that covers the Patient.
    let Scope { application, mode, .. } = &*access.scope;
    let consents = service.store.consents();
    let full_consent = match (access.patients(), only, named.patients.as_slice()) {
        (Some(_), ..) => consents.full(&access.subject),
        (None, Some(only), _) => consents.full_of_authorization(application, *mode, only),
        (None, None, [patient]) => consents.full_of_patient(application, *mode, patient),
        (None, None, _) => Ok(None),
    };
    let full_consent = full_consent.map_err(Error::internal)?;
    let now = service.store.clock().now();
    let sources = full_consent
        .iter()
        .flat_map(|full_consent| full_consent.sources.iter().map(move |source| (full_consent, source)));
    let shown = sources.filter(|(_, source)| {
        let authorization = &source.authorization;
        let is_named = || {
            let patient = authorization.patient.as_ref();
            patient.is_some_and(|id| named.patients.contains(id))
        };
        // A source whose first sync failed has no Patient, so only the wildcard selects it.
        let is_failed = || named.is_wildcard() && has_failed(authorization);
        let is_shown = authorization.is_active(now) && is_named() || is_failed();
        is_shown && only.is_none_or(|only| only == authorization.id)
    });
    let chosen: Vec<Chosen> = shown
        .map(|(full_consent, source)| connected(service, full_consent, source))
        .collect();
    match (chosen.is_empty(), only) {
        (false, _) => Ok(chosen),
        // The id is not that of an authorization whose source is shown, or there is no consent.
        (true, Some(only)) => Err(Error::Unknown(format!(
            "there is no patient authorization {only:?} here"
        ))),
        (true, None) => Ok(vec![Chosen {
            source: unconnected(service, named)?,
            scope: named.scope.clone(),
            patients: named.patients.clone(),
            own: own(service, named)?,
            authorization: None,
            has_records: true,
        }]),
    }
}

fn connected(service: &Service, full_consent: &ConsentWithSources, source: &consent::Source) -> Chosen {
    let scope = Arc::new(full_consent.scope(&service.lake, Some(source)));
    Chosen {
        source: of_consent(source),
        own: scope.clone(),
        scope,
        has_records: !has_failed(&source.authorization),
        authorization: Some(source.authorization.clone()),
        patients: source.authorization.patient.iter().cloned().collect(),
    }
}

/// Whether the application got the authorization, but its first sync failed, so that no records are stored.
fn has_failed(authorization: &Authorization) -> bool {
    authorization.state == AuthorizationState::Errored && authorization.exchanged_at.is_some()
}

/// Describes a source of a consent, with the resource types that its newest sync could not get completely.
/// Attachments are left out, because the PDF mentions each missing one.
fn of_consent(source: &consent::Source) -> Source {
    let kind = match source.authorization.authorization_type {
        AuthorizationType::Ial1 => SourceKind::SelfAttested,
        AuthorizationType::Ial2 => SourceKind::Facility,
        _ => SourceKind::Connected,
    };
    let mut shown = Source::of_endpoint(kind, &source.endpoint.label, &source.endpoint.name);
    let missing = source
        .missing
        .iter()
        .filter(|missing| missing.resource_type != "Binary");
    shown.missing = missing.map(|missing| missing.resource_type.clone()).collect();
    shown.missing.sort();
    shown.missing.dedup();
    shown
}

/// Returns the scope of the requested Patient's own rows. An application's scope is too wide for reading documents: it
/// also has other people's Binaries, and a record may refer to them.
fn own(service: &Service, named: &Named) -> Result<Arc<Scope>, Error> {
    let Scope {
        application,
        mode,
        patient: None,
    } = &*named.scope
    else {
        return Ok(named.scope.clone());
    };
    // A request with an application token names one Patient.
    let patient = named.patients.first().map_or("", String::as_str);
    let scope = service
        .store
        .consents()
        .scope_of_patient(&service.lake, application, *mode, patient);
    scope.map(Arc::new).map_err(Error::internal)
}

/// Finds the source of records for which no source of a consent was found: that of the endpoint in the Patient's tag.
fn unconnected(service: &Service, named: &Named) -> Result<Source, Error> {
    let patient = crate::fhir::facts().lookup("Patient");
    let snapshot = service.lake.snapshot();
    let row = patient.and_then(|type_id| {
        let table = service.lake.table(&snapshot, type_id, &named.scope);
        named.patients.iter().find_map(|id| table.read(id).ok().flatten())
    });
    tagged(&service.store, row.as_ref().map(|row| &*row.resource)).map_err(Error::internal)
}

/// Returns the source of the endpoint in a Patient's tag. If there is no known endpoint, returns the source of imported
/// records.
fn tagged(store: &Store, patient: Option<&[u8]>) -> Result<Source, consent::Error> {
    let endpoint = match patient.and_then(endpoint_of) {
        Some(id) => store.endpoints().get(&id)?,
        None => None,
    };
    Ok(match endpoint {
        Some(endpoint) => Source::of_endpoint(SourceKind::Connected, &endpoint.label, &endpoint.name),
        None => Source::imported(),
    })
}

/// Returns the source of one Patient's records, with the name that the server uses in PDFs. `resource` is the
/// Patient.
pub(crate) fn source_of_patient(
    store: &Store,
    application: &str,
    mode: Mode,
    patient: &str,
    resource: Option<&[u8]>,
) -> Result<Source, consent::Error> {
    let now = store.clock().now();
    let full_consent = store.consents().full_of_patient(application, mode, patient)?;
    let mut sources = full_consent.iter().flat_map(|full_consent| &full_consent.sources);
    let connected = sources.find(|source| {
        let authorization = &source.authorization;
        authorization.is_active(now) && authorization.patient.as_deref() == Some(patient)
    });
    match connected {
        Some(source) => Ok(of_consent(source)),
        None => tagged(store, resource),
    }
}
