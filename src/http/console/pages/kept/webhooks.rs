//! The lists of webhooks: receivers, and deliveries with a button that sends one again.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;

use crate::consent::{Actor, Delivery, DeliveryFilter, DeliveryState, Error as StoreError, Receiver, Store};
use crate::http::console::pages::table::encoded;
use crate::http::console::session::form::Fields;
use crate::http::console::session::operator::Operator;
use crate::http::console::shown::cell::Cell;
use crate::http::console::shown::page::{Frame, address, page_or_error, see_other};
use crate::http::error::Error;
use crate::http::service::Service;

pub(super) const RECEIVER_COLUMNS: [&str; 5] = ["Receiver", "Application", "Address", "State", "Added"];
pub(super) const DELIVERY_COLUMNS: [&str; 11] = [
    "Event",
    "Type",
    "At",
    "Application",
    "Consent",
    "To",
    "State",
    "Attempts",
    "Tried",
    "Answer",
    "",
];

/// Returns the rows of all receivers.
pub(super) fn receivers(store: &Store, frame: &Frame) -> Result<Vec<Vec<Cell>>, StoreError> {
    let now = store.clock().now();
    let receivers = store.webhooks().receivers(None)?;
    Ok(receivers.iter().map(|one| receiver(one, now, &frame.root)).collect())
}

/// Returns the rows of the newest deliveries.
pub(super) fn deliveries(store: &Store, frame: &Frame, wanted: u32) -> Result<Vec<Vec<Cell>>, StoreError> {
    let filter = DeliveryFilter {
        limit: wanted,
        ..DeliveryFilter::default()
    };
    let deliveries = store.webhooks().deliveries(&filter)?;
    Ok(deliveries.iter().map(|one| delivery(one, frame)).collect())
}

fn receiver(receiver: &Receiver, now: i64, root: &str) -> Vec<Cell> {
    let state = match receiver {
        Receiver {
            disabled_at: Some(_), ..
        } => "disabled: it answered 410",
        Receiver {
            listens_until: Some(_), ..
        } => "tabularium listen",
        Receiver {
            former_until: Some(until),
            ..
        } if *until > now => "active, two secrets",
        _ => "active",
    };
    vec![
        Cell::text(&receiver.id),
        application(&receiver.application, root),
        Cell::text(&receiver.url),
        Cell::text(state),
        Cell::time(receiver.created_at),
    ]
}

fn delivery(delivery: &Delivery, frame: &Frame) -> Vec<Cell> {
    let root = &frame.root;
    let answer = match (&delivery.failure, delivery.status) {
        (Some(failure), _) => failure.clone(),
        (None, Some(status)) => status.to_string(),
        (None, None) => String::new(),
    };
    // One that waits behind an earlier event cannot be sent yet.
    let waits = delivery.state == DeliveryState::Waiting && delivery.due_at.is_none();
    let resend = format!("{root}/kept/deliveries/{}/resend", delivery.id);
    vec![
        Cell::text(&delivery.event),
        Cell::text(delivery.event_type.name()),
        Cell::time(delivery.at),
        application(&delivery.application, root),
        Cell::link(&delivery.consent, &format!("{root}/kept/consents/{}", delivery.consent)),
        Cell::text(&delivery.url),
        Cell::text(delivery.state.name()),
        Cell::number(delivery.attempts),
        Cell::maybe(delivery.tried_at),
        Cell::text(&answer),
        if waits {
            Cell::text("")
        } else {
            Cell::button("Send again", &resend, &frame.csrf)
        },
    ]
}

fn application(id: &str, root: &str) -> Cell {
    Cell::link(id, &format!("{root}?application={}", encoded(id)))
}

/// Answers `POST /console/kept/deliveries/{id}/resend`: sends a delivery again, and shows the list.
pub(in crate::http::console) async fn resend(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(id): Path<String>,
    headers: HeaderMap,
    sent: Body,
) -> Response {
    let frame = operator.frame(&service, "kept", None);
    let work = async {
        Fields::sent_by(&operator, &service, &headers, sent).await?;
        let nothing = || Error::Unknown("there is no such delivery, or it waits behind another one".to_owned());
        let id: i64 = id.parse().map_err(|_| nothing())?;
        let name = operator.session.name.clone();
        let resending = service.blocking(move |service| {
            let webhooks = service.store.webhooks();
            webhooks.resend(&[id], Actor::Operator, Some(&name))
        });
        match resending.await? {
            Ok(0) => Err(nothing()),
            Ok(_) => Ok(see_other(&address(&service, "/kept/deliveries"))),
            Err(error @ StoreError::Invalid { .. }) => Err(Error::Invalid(error.to_string())),
            Err(error) => Err(Error::internal(error)),
        }
    };
    page_or_error(&frame, work).await
}
