//! Deliveries as operators see them.

use rusqlite::{Row, params};

use super::super::error::Error;
use super::event::EventType;
use super::queue::DeliveryState;
use super::receiver::Webhooks;

/// A delivery of an event to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The delivery's number. Later events have higher numbers.
    pub id: i64,
    /// The id of the event.
    pub event: String,
    /// The type of the event.
    pub event_type: EventType,
    /// When the event happened, in seconds since the Unix epoch.
    pub at: i64,
    /// The id of the event's consent.
    pub consent: String,
    /// The id of the application.
    pub application: String,
    /// The address of the receiver.
    pub url: String,
    /// The state.
    pub state: DeliveryState,
    /// When it is attempted next. `None` if it is over, or waits for an earlier event of its consent.
    pub due_at: Option<i64>,
    /// The number of attempts since it was written or resent.
    pub attempts: u32,
    /// When it was last attempted.
    pub tried_at: Option<i64>,
    /// The status of the last answer.
    pub status: Option<u16>,
    /// Why the last attempt failed.
    pub failure: Option<String>,
}

/// Conditions on the deliveries of a list. A field that is `None` is no condition.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryFilter<'a> {
    /// Only those of this application.
    pub application: Option<&'a str>,
    /// Only those of this event.
    pub event: Option<&'a str>,
    /// Only those to the receiver with this address or id.
    pub receiver: Option<&'a str>,
    /// Only those in this state.
    pub state: Option<DeliveryState>,
    /// The maximum number of deliveries.
    pub limit: u32,
}

impl Webhooks<'_> {
    /// Returns the deliveries that match a filter, newest first.
    pub fn deliveries(&self, filter: &DeliveryFilter<'_>) -> Result<Vec<Delivery>, Error> {
        let sql = "SELECT delivery.id, event.id, event.type, event.at, event.consent, event.application, receiver.url,
                          state, due_at, attempts, tried_at, status, failure
                   FROM webhook_delivery AS delivery
                   JOIN webhook_event AS event ON event.id = delivery.event
                   JOIN webhook_receiver AS receiver ON receiver.id = delivery.receiver
                   WHERE (?1 IS NULL OR event.application = ?1) AND (?2 IS NULL OR event.id = ?2)
                     AND (?3 IS NULL OR receiver.url = ?3 OR receiver.id = ?3) AND (?4 IS NULL OR state = ?4)
                   ORDER BY delivery.id DESC LIMIT ?5";
        self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let DeliveryFilter {
                application,
                event,
                receiver,
                state,
                limit,
            } = filter;
            let rows = statement.query_map(params![application, event, receiver, state, limit], read)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        id: row.get(0)?,
        event: row.get(1)?,
        event_type: row.get(2)?,
        at: row.get(3)?,
        consent: row.get(4)?,
        application: row.get(5)?,
        url: row.get(6)?,
        state: row.get(7)?,
        due_at: row.get(8)?,
        attempts: row.get(9)?,
        tried_at: row.get(10)?,
        status: row.get(11)?,
        failure: row.get(12)?,
    })
}
