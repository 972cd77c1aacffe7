//! The Patients whose records an operation reads.

use std::sync::Arc;

use crate::consent::Access;
use crate::fhir::reference::is_id;
use crate::http::error::Error;
use crate::http::fhir::patient_wildcard;
use crate::lake::Scope;

/// The Patients that a path names.
pub(super) struct Named {
    /// The caller's scope.
    pub(super) scope: Arc<Scope>,
    /// The Patients' ids, at least one.
    pub(super) patients: Vec<String>,
    /// `Patient/[id]` as the client sent it, for links. It may contain the wildcard, which is also valid in links.
    pub(super) path: String,
}

impl Named {
    /// Whether the path has the wildcard in place of an id.
    pub(super) fn is_wildcard(&self) -> bool {
        self.path.strip_prefix("Patient/") == Some(patient_wildcard::WILDCARD)
    }

    /// Returns the Patient with this id. For the wildcard, returns all Patients of the caller's consent. Does not
    /// check whether they exist. An invalid id is an error, as if there were no such Patient.
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
