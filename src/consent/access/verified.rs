//! The access that a verified token grants.

use std::sync::Arc;

use crate::lake::{PatientScope, Scope};

/// A verified token: the caller, its expiry, and the visible records.
#[derive(Clone, Debug)]
pub struct Access {
    /// The token's own id, for revoking it.
    pub jti: Box<str>,
    /// The consent's identifier for a patient token, or the client's for an application token.
    pub subject: Box<str>,
    /// The publishable key of the application.
    pub client: Arc<str>,
    /// When it ends, in seconds since the Unix epoch.
    pub expires_at: i64,
    /// The rows that it may see.
    pub scope: Arc<Scope>,
}

impl Access {
    /// The Patient ids of the token's consent, the primary one first. `None` for an application token.
    pub fn patients(&self) -> Option<&[String]> {
        self.scope.patient.as_ref().map(|patient| patient.patients.as_slice())
    }

    /// The same access for only some of its consent's Patients. The first of them is the primary one. An application
    /// token is not restricted.
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
