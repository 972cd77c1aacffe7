//! The access that a verified token grants.

use std::sync::Arc;

use crate::lake::{PatientScope, Scope};

/// The access that a verified token grants: the client, the expiry and the visible rows.
#[derive(Clone, Debug)]
pub struct Access {
    /// The token's id, by which it can be revoked.
    pub jti: Box<str>,
    /// The token's `sub`: the id of the consent for a patient token, the publishable key for an application token.
    pub subject: Box<str>,
    /// The publishable key of the client.
    pub client: Arc<str>,
    /// When the token expires, in seconds since the Unix epoch.
    pub expires_at: i64,
    /// The rows that the token may see.
    pub scope: Arc<Scope>,
}

impl Access {
    /// Returns the Patient ids of the token's consent, the primary one first. `None` for an application token.
    pub fn patients(&self) -> Option<&[String]> {
        self.scope.patient.as_ref().map(|patient| patient.patients.as_slice())
    }

    /// Returns a copy whose scope has only these Patients of the consent, the primary one first. The access of an
    /// application token has no Patients and is copied unchanged.
    pub fn narrowed_to(&self, patients: &[String]) -> Access {
        let narrowed = |person: &Arc<PatientScope>| {
            Arc::new(PatientScope {
                patients: patients.to_vec(),
                ..PatientScope::clone(person)
            })
        };
        let scope = Scope {
            patient: self.scope.patient.as_ref().map(narrowed),
            ..Scope::clone(&self.scope)
        };
        Access {
            scope: Arc::new(scope),
            ..self.clone()
        }
    }
}
