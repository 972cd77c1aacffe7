//! Stores a source's grant in the session.

use std::sync::Arc;

use super::super::session::visit::stored;
use crate::consent::{
    Authorization, AuthorizationType, Credential, Endpoint, Flow, FlowError, Grant, SessionKey, SourceGrant,
};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::sync::client;

/// Stores a source's grant in the session. `assertion` is the ID token by which the grant was obtained, if any.
pub(in crate::http::connect) async fn granted(
    service: &Arc<Service>,
    key: SessionKey,
    authorization: Authorization,
    flow: &Flow,
    endpoint: &Endpoint,
    grant: client::Grant,
    assertion: Option<&str>,
) -> Result<Result<Option<Flow>, FlowError>, Error> {
    let owner = flow
        .consent
        .owner
        .ok_or_else(|| Error::internal("a consent of the flow has no owner"))?;
    let (endpoint, assertion) = (endpoint.clone(), assertion.map(str::to_owned));
    let taken = stored(service, move |service| {
        let now = service.store.clock().now();
        let source_patient = grant.patient.unwrap_or_default();
        let asked = endpoint.scope_for(authorization.usage);
        let patient = service.lake.synced_id(owner, &endpoint.id, "Patient", &source_patient);
        let credential = Credential {
            expires_at: grant.expires_in.map(|seconds| now.saturating_add(seconds)),
            access_token: grant.access_token,
            // If the patient signs in with a portal's credentials, access is for one time. So drop a refresh token.
            refresh_token: grant
                .refresh_token
                .filter(|_| endpoint.authorization_type != AuthorizationType::Credentials),
            assertion,
        };
        let granted = SourceGrant {
            grant: Grant {
                patient: &patient,
                source_patient: &source_patient,
                scope_requested: &asked,
                // A source that returns no scope has granted the requested one (RFC 6749, section 5.1).
                scope_granted: grant.scope.as_deref().unwrap_or(&asked),
                refreshable: credential.refresh_token.is_some(),
                max_auth_until: endpoint
                    .max_auth_period
                    .filter(|seconds| *seconds > 0)
                    .map(|seconds| now + seconds),
            },
            credential: &credential,
        };
        service.store.flows().source_granted(key, &authorization.id, &granted)
    });
    Ok(taken.await?.map(Some))
}
