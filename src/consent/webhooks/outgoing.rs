//! The message of a delivery: its body, and the secrets that sign it.

use chrono::{DateTime, SecondsFormat};
use rusqlite::{OptionalExtension, params};
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::error::Error;
use super::event::EventType;
use super::receiver::{Webhooks, purpose};

/// A message to be posted to a receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The delivery's number.
    pub delivery: i64,
    /// The id of the event. It is the same for all receivers and attempts.
    pub event: String,
    /// The type of the event.
    pub event_type: EventType,
    /// The id of the event's consent.
    pub consent: String,
    /// The address of the receiver.
    pub url: String,
    /// The body, JSON.
    pub body: String,
    /// The receiver's secrets, the newest first. During a rotation there are two.
    pub secrets: Vec<String>,
}

impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing")
            .field("delivery", &self.delivery)
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}

/// The body of a message.
#[derive(Serialize)]
struct Body {
    #[serde(rename = "type")]
    event_type: EventType,
    timestamp: String,
    data: Map<String, Value>,
}

/// The row of a delivery, with its event and receiver.
struct Row {
    event: String,
    event_type: EventType,
    at: i64,
    data: String,
    consent: String,
    receiver: String,
    url: String,
    secret: Vec<u8>,
    former_secret: Option<Vec<u8>>,
    external_id: Option<String>,
}

impl Webhooks<'_> {
    /// Returns the message of a delivery that is due. `None` if it is over, or its receiver is gone or disabled.
    pub fn outgoing(&self, delivery: i64) -> Result<Option<Outgoing>, Error> {
        let now = self.store.clock().now();
        let found = self.store.read(|connection| {
            let sql = "SELECT event.id, event.type, event.at, event.data, event.consent, receiver.id, receiver.url,
                              receiver.secret, CASE WHEN former_until > ?2 THEN former_secret END,
                              (SELECT external_id FROM consent WHERE consent.id = event.consent)
                       FROM webhook_delivery AS delivery
                       JOIN webhook_event AS event ON event.id = delivery.event
                       JOIN webhook_receiver AS receiver ON receiver.id = delivery.receiver
                       WHERE delivery.id = ?1 AND due_at IS NOT NULL AND disabled_at IS NULL";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row(params![delivery, now], |row| {
                Ok(Row {
                    event: row.get(0)?,
                    event_type: row.get(1)?,
                    at: row.get(2)?,
                    data: row.get(3)?,
                    consent: row.get(4)?,
                    receiver: row.get(5)?,
                    url: row.get(6)?,
                    secret: row.get(7)?,
                    former_secret: row.get(8)?,
                    external_id: row.get(9)?,
                })
            });
            Ok(found.optional()?)
        })?;
        found.map(|row| self.made(delivery, row)).transpose()
    }

    fn made(&self, delivery: i64, row: Row) -> Result<Outgoing, Error> {
        let purpose = purpose(&row.receiver);
        let newest = self.store.opened(Some(row.secret), &purpose)?;
        let former = self.store.opened(row.former_secret, &purpose)?;
        let lost = |_| Error::Lost("data of an event");
        let mut data: Map<String, Value> = serde_json::from_str(&row.data).map_err(lost)?;
        data.insert("externalId".to_owned(), row.external_id.into());
        let body = Body {
            event_type: row.event_type,
            timestamp: time(row.at),
            data,
        };
        Ok(Outgoing {
            delivery,
            event: row.event,
            event_type: row.event_type,
            consent: row.consent,
            url: row.url,
            body: serde_json::to_string(&body).map_err(lost)?,
            secrets: newest.into_iter().chain(former).collect(),
        })
    }
}

fn time(seconds: i64) -> String {
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
