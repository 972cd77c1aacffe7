//! The sources of a patient's pages, and the scope through which each is read.

use std::sync::Arc;

use super::subject::Named;
use crate::columns::json::Tape;
use crate::consent::{self, Access, Authorization, AuthorizationType, ConsentWithSources};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::Scope;
use crate::patient::pdf::{Source, SourceKind};

/// A source whose records will be read.
pub(super) struct Chosen {
    pub(super) source: Source,
    pub(super) scope: Arc<Scope>,
    pub(super) patients: Vec<String>,
    /// The scope for reading its documents: the patient's own, even if an application may see more.
    pub(super) own: Arc<Scope>,
    /// The access for fetching documents that are not in the lake.
    pub(super) authorization: Option<Authorization>,
}

/// The requested sources, each with its scope.
pub(super) fn chosen(
    service: &Service,
    access: &Access,
    named: &Named,
    only: Option<&str>,
) -> Result<Vec<Chosen>, Error> {
    // An application has no authorization of its own, so it cannot name one.
    let full_consent = match (access.patients(), only, named.patients.as_slice()) {
        (Some(_), ..) => service.store.consents().full(&access.subject),
        (None, None, [patient]) => {
            let Scope { application, mode, .. } = &*access.scope;
            service.store.consents().full_of_patient(application, *mode, patient)
        }
        (None, ..) => Ok(None),
    };
    let full_consent = full_consent.map_err(Error::internal)?;
    let now = service.store.clock().now();
    let sources = full_consent
        .iter()
        .flat_map(|full_consent| full_consent.sources.iter().map(move |source| (full_consent, source)));
    let shown = sources.filter(|(_, source)| {
        let authorization = &source.authorization;
        let is_named = authorization
            .patient
            .as_ref()
            .is_some_and(|id| named.patients.contains(id));
        authorization.is_active(now) && is_named && only.is_none_or(|only| only == authorization.id)
    });
    let chosen: Vec<Chosen> = shown
        .map(|(full_consent, source)| connected(service, full_consent, source))
        .collect();
    match (chosen.is_empty(), only) {
        (false, _) => Ok(chosen),
        // Within this consent, an id outside it is unknown.
        (true, Some(only)) => Err(Error::Unknown(format!(
            "there is no patient authorization {only:?} here"
        ))),
        (true, None) => Ok(vec![Chosen {
            source: unconnected(service, named)?,
            scope: named.scope.clone(),
            patients: named.patients.clone(),
            own: own(service, named)?,
            authorization: None,
        }]),
    }
}

fn connected(service: &Service, full_consent: &ConsentWithSources, source: &consent::Source) -> Chosen {
    let label = source.endpoint.label.first().unwrap_or(&source.endpoint.name);
    let scope = Arc::new(full_consent.scope(&service.lake, Some(source)));
    let kind = match source.authorization.ty {
        AuthorizationType::Ial1 => SourceKind::SelfAttested,
        AuthorizationType::Ial2 => SourceKind::Facility,
        _ => SourceKind::Connected,
    };
    Chosen {
        source: Source {
            label: label.clone(),
            // A facility's file is named as patients know the facility. Other files are named after their endpoint.
            name: match kind {
                SourceKind::Facility => label.clone(),
                _ => source.endpoint.name.clone(),
            },
            kind,
        },
        own: scope.clone(),
        scope,
        authorization: Some(source.authorization.clone()),
        patients: source.authorization.patient.iter().cloned().collect(),
    }
}

/// Only the named Patient's rows: an application may see Binaries of other people, which a record may name.
fn own(service: &Service, named: &Named) -> Result<Arc<Scope>, Error> {
    let Scope {
        application,
        mode,
        patient: None,
    } = &*named.scope
    else {
        return Ok(named.scope.clone());
    };
    // An application names one Patient.
    let patient = named.patients.first().map_or("", String::as_str);
    let scope = service
        .store
        .consents()
        .scope_of_patient(&service.lake, application, *mode, patient);
    scope.map(Arc::new).map_err(Error::internal)
}

/// The source of records that no flow connected, or that an application requests. The endpoint in the Patient's tag
/// identifies it.
fn unconnected(service: &Service, named: &Named) -> Result<Source, Error> {
    let patient = crate::fhir::facts().lookup("Patient");
    let snapshot = service.lake.snapshot();
    let row = patient.and_then(|ty| {
        let table = service.lake.table(&snapshot, ty, &named.scope);
        named.patients.iter().find_map(|id| table.read(id).ok().flatten())
    });
    let endpoint = row.and_then(|row| endpoint_of(&row.resource));
    let known = match endpoint {
        Some(id) => service.store.endpoints().get(&id).map_err(Error::internal)?,
        None => None,
    };
    Ok(match known {
        Some(endpoint) => Source {
            label: endpoint.label.first().cloned().unwrap_or_else(|| endpoint.name.clone()),
            name: endpoint.name,
            kind: SourceKind::Connected,
        },
        None => Source {
            label: "Imported records".to_owned(),
            name: "imported".to_owned(),
            kind: SourceKind::Connected,
        },
    })
}

fn endpoint_of(resource: &[u8]) -> Option<String> {
    let mut tape = Tape::new();
    let tags = tape.parse(resource).ok()?.get("meta")?.get("tag")?;
    let mut tags = tags.items();
    let tag = tags.find(|tag| {
        tag.get_str("system")
            .is_some_and(|system| system.ends_with("/tags/EndpointId"))
    })?;
    tag.get_str("code").map(|code| code.into_owned())
}
