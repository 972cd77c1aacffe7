//! Redirects patients to sources and identity providers, and stores the state until they come back.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::super::super::page::answer::see_other;
use super::super::session::visit::stored;
use crate::consent::{self, Departure, Endpoint, FlowError, IdentityProvider, SessionKey, Step, Trouble, Usage};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::Mode;
use crate::sync::client::{self, Configuration, Realm, Registration, Statement, Verifier};

/// How long a call to a source may take while a patient waits.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a call may take if the flow can continue without its answer.
const SHORT_PATIENCE: Duration = Duration::from_secs(5);
/// The scopes requested from an identity provider.
const IDENTITY_SCOPE: &str = "openid profile address";

/// The state that is stored, encrypted, until a patient comes back from a source or an identity provider.
#[derive(Serialize, Deserialize)]
pub(in crate::http::connect) struct SignInState {
    pub(in crate::http::connect) configuration: Configuration,
    pub(in crate::http::connect) verifier: Verifier,
}

/// Runs a call to a source with the timeout for a waiting patient.
pub(in crate::http::connect) async fn patiently<T>(
    call: impl Future<Output = Result<T, client::Error>>,
) -> Result<T, client::Error> {
    within(PATIENCE, call).await
}

async fn within<T>(
    patience: Duration,
    call: impl Future<Output = Result<T, client::Error>>,
) -> Result<T, client::Error> {
    let late = || client::Error::Timeout {
        host: "the source".to_owned(),
    };
    tokio::time::timeout(patience, call)
        .await
        .unwrap_or_else(|_| Err(late()))
}

/// Returns the callback URL of a source. Each source has its own URL, so that one source cannot answer in place of
/// another.
pub(in crate::http::connect) fn callback_of(service: &Service, endpoint: &str) -> String {
    format!("{}/connect/callback/{}", service.base_url, segment(endpoint))
}

/// Returns the callback URL of an identity provider.
pub(in crate::http::connect) fn identity_callback_of(service: &Service, code: &str) -> String {
    format!("{}/connect/identity/{}", service.base_url, segment(code))
}

/// Encodes a name as a path segment: all characters except the unreserved ones of RFC 3986. Those must stay as they
/// are, because sources compare redirect URIs character by character with the registered ones.
fn segment(name: &str) -> PercentEncode<'_> {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(name, ENCODED)
}

/// Returns the service's client registration at an endpoint, with the scopes to request for this usage.
pub(in crate::http::connect) async fn registration(
    service: &Arc<Service>,
    endpoint: &Endpoint,
    usage: Usage,
) -> Result<Registration, Error> {
    let id = endpoint.id.clone();
    let known = stored(service, move |service| {
        Ok::<_, consent::Error>((
            service.store.endpoints().secret(&id)?,
            service.store.dialects().get(&id)?,
        ))
    });
    let (client_secret, dialect) = known.await?.map_err(Error::internal)?;
    Ok(Registration {
        client_id: endpoint.client_id.clone(),
        client_secret,
        scope: endpoint.scope_for(usage),
        client_auth: dialect.client_auth,
        secret_at: Some(Realm::origins(
            [endpoint.fhir_base.as_str()]
                .into_iter()
                .chain(dialect.token_endpoint.as_deref()),
        )),
    })
}

/// Returns the service's client registration at an identity provider.
pub(in crate::http::connect) async fn provider_registration(
    service: &Arc<Service>,
    provider: &IdentityProvider,
) -> Result<Registration, Error> {
    let (mode, code): (Mode, String) = (provider.mode, provider.code.clone());
    let secret = stored(service, move |service| {
        service.store.identity_providers().secret(mode, &code)
    });
    Ok(Registration {
        client_id: provider.client_id.clone(),
        client_secret: secret.await?.map_err(Error::internal)?,
        scope: IDENTITY_SCOPE.to_owned(),
        client_auth: None,
        secret_at: None,
    })
}

/// Fetches the SMART configuration of an endpoint. After a temporary error, returns the stored configuration, if
/// there is one.
pub(in crate::http::connect) async fn configuration(
    service: &Arc<Service>,
    endpoint: &Endpoint,
) -> Result<Result<Configuration, client::Error>, Error> {
    let patience = match endpoint.configuration {
        Some(_) => SHORT_PATIENCE,
        None => PATIENCE,
    };
    let error = match within(patience, service.sources.discover(&endpoint.fhir_base)).await {
        Ok(found) => {
            let text = serde_json::to_string(&found).map_err(Error::internal)?;
            if endpoint.configuration.as_ref() != Some(&text) {
                let id = endpoint.id.clone();
                let kept = stored(service, move |service| service.store.endpoints().checked(&id, &text));
                kept.await?.map_err(Error::internal)?;
            }
            return Ok(Ok(found));
        }
        Err(error) => error,
    };
    tracing::warn!(endpoint = endpoint.id, %error, "a source did not tell its configuration");
    let kept = endpoint.configuration.as_deref().filter(|_| error.may_pass());
    Ok(kept.and_then(|text| serde_json::from_str(text).ok()).ok_or(error))
}

/// Whether the source's CapabilityStatement shows that its records cannot be read. Fetches the statement if it is not
/// stored. `false` if the source does not return one.
async fn is_unreadable(service: &Arc<Service>, endpoint: &Endpoint) -> Result<bool, Error> {
    let id = endpoint.id.clone();
    let known = stored(service, move |service| service.store.dialects().get(&id));
    let problem = |statement: Statement| statement.problem();
    let told = match known.await?.map_err(Error::internal)?.statement {
        Some(text) => serde_json::from_str(&text).ok().and_then(problem),
        None => {
            let asked = within(SHORT_PATIENCE, service.sources.statement(&endpoint.fhir_base));
            let Ok(found) = asked.await else { return Ok(false) };
            let (id, text) = (
                endpoint.id.clone(),
                serde_json::to_string(&found).map_err(Error::internal)?,
            );
            let kept = stored(service, move |service| {
                service.store.dialects().set_statement(&id, &text)
            });
            kept.await?.map_err(Error::internal)?;
            problem(found)
        }
    };
    if let Some(problem) = &told {
        tracing::warn!(endpoint = endpoint.id, problem, "a source's records cannot be read");
    }
    Ok(told.is_some())
}

/// Sends a patient to a source, for an application that requested this usage. If that fails, redirects to the
/// session's page, which shows the problem.
pub(in crate::http::connect) async fn to_source(
    service: &Arc<Service>,
    key: SessionKey,
    endpoint: Endpoint,
    asked: Usage,
) -> Result<Result<Response, FlowError>, Error> {
    let usage = departure(&endpoint).usage(asked);
    if is_unreadable(service, &endpoint).await? {
        let left = stored(service, move |service| {
            service
                .store
                .flows()
                .not_departed(key, &departure(&endpoint), Trouble::Unreadable)
        });
        return Ok(left.await?.map(|()| to_session(service)));
    }
    let registration = registration(service, &endpoint, usage).await?;
    let redirect = match configuration(service, &endpoint).await? {
        Ok(configuration) => {
            let back = callback_of(service, &endpoint.id);
            let aud = Some(endpoint.fhir_base.as_str());
            let redirect = service.sources.redirect(&configuration, &registration, &back, aud);
            redirect.map(|redirect| (redirect, configuration))
        }
        Err(error) => Err(error),
    };
    let (redirect, configuration) = match redirect {
        Ok(made) => made,
        Err(error) => {
            tracing::warn!(endpoint = endpoint.id, %error, "a patient could not be sent to a source");
            let left = stored(service, move |service| {
                service.store.flows().depart_failed(key, &departure(&endpoint))
            });
            return Ok(left.await?.map(|()| to_session(service)));
        }
    };
    let sign_in = SignInState {
        configuration,
        verifier: redirect.verifier,
    };
    let sign_in = serde_json::to_vec(&sign_in).map_err(Error::internal)?;
    let state = redirect.state;
    let departed = stored(service, move |service| {
        service
            .store
            .flows()
            .depart(key, &departure(&endpoint), &state, &sign_in)
    });
    Ok(departed.await?.map(|()| see_other(&redirect.url)))
}

/// Sends a patient to an identity provider. If that fails, redirects to the session's page, which shows the problem.
pub(in crate::http::connect) async fn to_provider(
    service: &Arc<Service>,
    key: SessionKey,
    provider: IdentityProvider,
) -> Result<Result<Response, FlowError>, Error> {
    let registration = provider_registration(service, &provider).await?;
    let asked = patiently(service.sources.provider(&provider.issuer))
        .await
        .and_then(|known| {
            let back = identity_callback_of(service, &provider.code);
            let redirect = service
                .sources
                .redirect(&known.configuration, &registration, &back, None)?;
            Ok((redirect, known.configuration))
        });
    let (redirect, configuration) = match asked {
        Ok(made) => made,
        Err(error) => {
            tracing::warn!(provider = provider.code, %error, "a patient could not be sent to an identity provider");
            let step = Step::Identity {
                trouble: Some(Trouble::Down),
                provider: Some(provider.code),
            };
            let gone = stored(service, move |service| service.store.flows().go_to(key, step));
            return Ok(gone.await?.map(|()| to_session(service)));
        }
    };
    let sign_in = SignInState {
        configuration,
        verifier: redirect.verifier,
    };
    let sign_in = serde_json::to_vec(&sign_in).map_err(Error::internal)?;
    let state = redirect.state;
    let departed = stored(service, move |service| {
        service
            .store
            .flows()
            .depart_to_provider(key, &provider.code, &state, &sign_in)
    });
    Ok(departed.await?.map(|()| see_other(&redirect.url)))
}

/// Returns what the store must know about an endpoint when a patient is sent to it.
pub(in crate::http::connect) fn departure(endpoint: &Endpoint) -> Departure<'_> {
    Departure {
        endpoint: &endpoint.id,
        authorization_type: endpoint.authorization_type,
        refreshable: endpoint.refreshable,
    }
}

/// Returns a redirect to the session's current page.
pub(in crate::http::connect) fn to_session(service: &Service) -> Response {
    see_other(&format!("{}/connect", service.base_path()))
}

/// Converts the outcome of a step to a response. If the session does not permit the step any more, the response is a
/// redirect to the session's current page.
pub(in crate::http::connect) fn stepped(
    service: &Service,
    taken: Result<Response, FlowError>,
) -> Result<Response, Error> {
    match taken {
        Ok(response) => Ok(response),
        Err(FlowError::Stale | FlowError::Over) => Ok(to_session(service)),
        Err(FlowError::Store(consent::Error::Illegal(_) | consent::Error::Lost(_))) => Ok(to_session(service)),
        Err(FlowError::Store(error)) => Err(Error::internal(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_in_redirect_uris_as_they_are() {
        // If hyphens were encoded, the redirect URI would differ from the registered one, and sources would refuse
        // every patient.
        let id = "a053553b-07cd-430d-840e-e9c396dce095";
        assert_eq!(segment(id).to_string(), id);
        assert_eq!(segment("a/b c").to_string(), "a%2Fb%20c");
    }
}
