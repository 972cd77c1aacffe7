//! Signed addresses of attachments: makes them for a caller who reads records, and checks them when they are read.
//!
//! A service signs only if its operator wants it. The signature is in the query of the address of a Binary, so the
//! address without it works, too, with a token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use uuid::Uuid;

use super::negotiate::parameter;
use crate::consent::{ADDRESS_SECONDS, Access, AttachmentAddress};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::Scope;
use crate::search::AddressSigner;

const AUTHORIZATION: &str = "authorization";
const JTI: &str = "jti";
const UNTIL: &str = "until";
pub(super) const SIGNATURE: &str = "signature";

/// Returns the signer for the answers to a caller. `None` if the service does not sign addresses.
pub(super) fn signer(service: &Arc<Service>, access: &Arc<Access>) -> Option<AddressSigner> {
    if !service.signed_attachments {
        return None;
    }
    let (service, access) = (service.clone(), access.clone());
    // An address does not outlive the token with which it was made.
    let until = (service.store.clock().now() + ADDRESS_SECONDS).min(access.expires_at);
    let known: Mutex<HashMap<String, bool>> = Mutex::default();
    Some(AddressSigner::new(move |authorization, attachment| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = *known
            .entry(authorization.to_owned())
            .or_insert_with(|| is_own(&service, &access, authorization));
        drop(known);
        if !is_own {
            return None;
        }
        let address = AttachmentAddress {
            attachment,
            authorization,
            jti: &access.jti,
            until,
        };
        let signature = service.store.sign_address(&address);
        let jti = &access.jti;
        Some(format!(
            "{AUTHORIZATION}={authorization}&{JTI}={jti}&{UNTIL}={until}&{SIGNATURE}={signature}"
        ))
    }))
}

/// Whether the caller may read what an authorization brought. Imported records may name an authorization of another
/// service.
fn is_own(service: &Service, access: &Access, authorization: &str) -> bool {
    if Uuid::try_parse(authorization).is_err() {
        return false;
    }
    match &access.scope.patient {
        Some(patient) => patient.authorizations.iter().any(|own| own == authorization),
        None => {
            let consents = service.store.consents();
            let found = consents.full_of_authorization(&access.scope.application, access.scope.mode, authorization);
            found.is_ok_and(|found| found.is_some())
        }
    }
}

/// The parameters of a signed address, as a request has them.
pub(super) struct Presented {
    authorization: String,
    jti: String,
    until: i64,
    signature: String,
}

impl Presented {
    /// Reads the parameters of a request for a Binary. `None` if the service does not sign addresses, or if the query
    /// has no signature.
    pub(super) fn of(service: &Service, query: Option<&str>) -> Option<Presented> {
        if !service.signed_attachments {
            return None;
        }
        let text = |name| parameter(query, name).unwrap_or_default();
        Some(Presented {
            signature: parameter(query, SIGNATURE)?,
            authorization: text(AUTHORIZATION),
            jti: text(JTI),
            // A time that cannot be read has passed.
            until: text(UNTIL).parse().unwrap_or_default(),
        })
    }

    /// Returns the rows that may be read by the address of this attachment.
    pub(super) fn scope(&self, service: &Service, attachment: &str) -> Result<Arc<Scope>, Error> {
        let address = AttachmentAddress {
            attachment,
            authorization: &self.authorization,
            jti: &self.jti,
            until: self.until,
        };
        let scope = service
            .store
            .scope_of_address(&service.lake, &address, &self.signature)
            .map_err(Error::internal)?;
        scope.map(Arc::new).ok_or(Error::Forbidden(
            "this signed address is not valid, or not any more; read the record again for a new one",
        ))
    }
}
