//! Ends a flow, and sends the result to its application.

use std::sync::Arc;

use axum::response::Response;

use super::super::language::Texts;
use super::super::page::ending::{Denial, denied, ended};
use super::session::visit::stored;
use super::sources::travel::stepped;
use crate::consent::{Ended, Flow, FlowError, SessionKey};
use crate::http::error::Error;
use crate::http::service::Service;

/// Ends the flow with the connected sources. If the store fails, the application gets an error.
pub(in crate::http::connect) async fn finish(
    service: &Arc<Service>,
    t: &'static Texts,
    key: SessionKey,
) -> Result<Response, Error> {
    let done = stored(service, move |service| {
        let finished = service.store.flows().finish(key);
        let failed = match finished {
            Err(FlowError::Store(error)) => {
                tracing::error!(%error, "a flow could not be finished");
                given_up(service, key).map(|flow| (flow, None))
            }
            finished => finished.map(|(flow, ended)| (flow, Some(ended))),
        };
        let (flow, ended) = failed?;
        let application = service.store.applications().get(&flow.consent.application)?;
        let lost = crate::consent::Error::UnknownApplication(flow.consent.application.clone());
        Ok::<_, FlowError>((flow, ended, application.ok_or(lost)?))
    });
    match done.await? {
        Ok((flow, ended_with, application)) => Ok(match ended_with {
            Some(Ended::NoSource) | None => {
                let denial = if ended_with.is_some() {
                    Denial::NoFacilities
                } else {
                    Denial::NotFinished
                };
                denied(service, t, &flow, &application, denial)
            }
            Some(with) => ended(service, t, &flow, &application, &with),
        }),
        Err(error) => stepped(service, Err(error)),
    }
}

/// Cancels a flow that cannot be finished. If the store cannot cancel it either, returns the flow without a change, so
/// that the application gets an error. The session then ends by timeout.
fn given_up(service: &Service, key: SessionKey) -> Result<Flow, FlowError> {
    match service.store.flows().cancel(key) {
        Err(FlowError::Store(error)) => {
            tracing::error!(%error, "a flow could not be ended");
            service.store.flows().peek(key)?.ok_or(FlowError::Over)
        }
        ended => ended,
    }
}
