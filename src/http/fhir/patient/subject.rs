//! The patient of an operation.

use std::sync::Arc;

use crate::consent::Access;
use crate::fhir::reference::is_id;
use crate::http::error::Error;
use crate::http::fhir::patient_wildcard;
use crate::lake::Scope;

/// Patients that a path names.
pub(super) struct Named {
    /// The caller's scope.
    pub(super) scope: Arc<Scope>,
    /// The Patients' ids. There is at least one.
    pub(super) patients: Vec<String>,
    /// `Patient/[id]` as the client sent it, for links. The wildcard in a link works for any token.
    pub(super) path: String,
}

impl Named {
    /// Whether the path has the wildcard in place of an id.
    pub(super) fn is_wildcard(&self) -> bool {
        self.path.strip_prefix("Patient/") == Some(patient_wildcard::WILDCARD)
    }

    /// The Patient with this id or, for the wildcard, all Patients of the caller's consent. The reader of their records
    /// finds out whether they exist. An invalid id belongs to no Patient.
    pub(super) fn in_path(id: String, access: &Access) -> Result<Named, Error> {
        let path = format!("Patient/{id}");
        let patients = patient_wildcard::in_body(&id, access)?;
        if patients.iter().all(|id| is_id(id)) && !patients.is_empty() {
            Ok(Named {
                scope: access.scope.clone(),
                patients,
                path,
            })
        } else {
            Err(Error::NotFound {
                resource_type: "Patient".to_owned(),
                id,
            })
        }
    }
}
