//! The queue of deliveries: which ones are due, and what the result of an attempt changes.
//!
//! Of the deliveries of one consent at one receiver only the first that waits has a time at which it is due. The
//! others wait behind it. So a later event never overtakes an earlier one.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::error::Error;
use super::super::log::audit::{About, Actor, note};
use super::super::states::named;
use super::backoff::{LONGEST, wait};
use super::receiver::{Webhooks, disable, host};

/// How long a delivery is tried, in seconds.
const TRIED_FOR: i64 = 3 * 86_400;
/// The maximum number of characters of a stored failure.
const LONGEST_FAILURE: usize = 300;

named! {
    /// The state of a delivery.
    DeliveryState {
        /// It is due, or waits for a retry, or for an earlier event of its consent.
        Waiting = "WAITING",
        /// The receiver has accepted it.
        Delivered = "DELIVERED",
        /// It failed for three days, or its receiver was disabled.
        GivenUp = "GIVEN_UP",
    }
}

/// A delivery that may be attempted now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueDelivery {
    /// The delivery's number.
    pub delivery: i64,
    /// The id of its receiver.
    pub receiver: String,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver answered with a status of success.
    Accepted(u16),
    /// The receiver answered 410: it wants no more events.
    Gone,
    /// The attempt failed.
    Failed {
        /// The status, if the receiver answered.
        status: Option<u16>,
        /// The reason, without the address's path and query.
        why: String,
        /// The number of seconds that the receiver asks to wait.
        retry_after: Option<u64>,
    },
}

/// What the result of an attempt has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The event is delivered.
    Delivered,
    /// It is attempted again at this time.
    Again(i64),
    /// It is given up.
    GivenUp,
    /// The delivery is not there any more, or nobody waits for it.
    Lost,
}

/// How many given-up deliveries are sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResentDeliveries {
    /// Those that are sent again.
    pub count: usize,
    /// Those that stay given up, because their receiver is disabled.
    pub disabled: usize,
}

/// A delivery that is being attempted.
struct Attempted {
    event: String,
    receiver: String,
    consent: String,
    attempts: u32,
    until: i64,
    application: String,
    event_type: String,
    url: String,
}

impl Webhooks<'_> {
    /// Returns the deliveries that are due, at most `of_each` of each receiver, oldest first. Leaves out receivers of
    /// `tabularium listen`, because that command delivers to them itself.
    pub fn due(&self, of_each: usize) -> Result<Vec<DueDelivery>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| {
            let sql = "SELECT id FROM webhook_receiver WHERE disabled_at IS NULL AND listens_until IS NULL ORDER BY id";
            let mut statement = connection.prepare_cached(sql)?;
            let receivers = statement.query_map([], |row| row.get(0))?;
            let receivers = receivers.collect::<Result<Vec<String>, _>>()?;
            let mut due = Vec::new();
            for receiver in receivers {
                due.extend(due_at(connection, now, &receiver, of_each)?);
            }
            Ok(due)
        })
    }

    /// Returns the deliveries of one receiver that are due, at most `max`, oldest first.
    pub fn due_of(&self, receiver: &str, max: usize) -> Result<Vec<DueDelivery>, Error> {
        let now = self.store.clock().now();
        self.store.read(|connection| due_at(connection, now, receiver, max))
    }

    /// Stores the result of an attempt. After a failure the delivery waits, or is given up if it has failed for three
    /// days. After 410 the receiver is disabled, and all that waits for it is given up.
    pub fn settle(&self, delivery: i64, outcome: &Outcome) -> Result<Settled, Error> {
        let now = self.store.clock().now();
        // A clock that is ahead for a moment gives nothing up.
        let settled_now = self.store.settled_now();
        self.store.write(|transaction| {
            let Some(attempted) = attempted(transaction, delivery)? else {
                return Ok(Settled::Lost);
            };
            match outcome {
                Outcome::Accepted(status) => {
                    delivered(transaction, now, delivery, *status)?;
                    promote(transaction, now, &attempted.receiver, &attempted.consent)?;
                    Ok(Settled::Delivered)
                }
                Outcome::Gone => {
                    let why = "the receiver answered 410 and was disabled";
                    failed(transaction, now, delivery, (Some(410), why), None)?;
                    disable(transaction, now, &attempted.receiver)?;
                    Ok(Settled::GivenUp)
                }
                Outcome::Failed { status, why, .. } if settled_now.is_some_and(|now| now >= attempted.until) => {
                    failed(transaction, now, delivery, (*status, why), None)?;
                    give_up(transaction, now, delivery, &attempted, why)?;
                    Ok(Settled::GivenUp)
                }
                Outcome::Failed {
                    status,
                    why,
                    retry_after,
                } => {
                    let mut again = now + wait(attempted.attempts + 1, *retry_after)?;
                    // The last attempt is made at the end of the three days.
                    if now < attempted.until {
                        again = again.min(attempted.until);
                    }
                    failed(transaction, now, delivery, (*status, why), Some(again))?;
                    Ok(Settled::Again(again))
                }
            }
        })
    }

    /// Stores the result of the only attempt of a delivery to a receiver of `tabularium listen`.
    pub fn settle_once(&self, delivery: i64, outcome: &Outcome) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store.write(|transaction| {
            let Some(attempted) = attempted(transaction, delivery)? else {
                return Ok(());
            };
            match outcome {
                Outcome::Accepted(status) => delivered(transaction, now, delivery, *status)?,
                Outcome::Gone => failed(
                    transaction,
                    now,
                    delivery,
                    (Some(410), "the receiver answered 410"),
                    None,
                )?,
                Outcome::Failed { status, why, .. } => failed(transaction, now, delivery, (*status, why), None)?,
            }
            promote(transaction, now, &attempted.receiver, &attempted.consent)
        })
    }

    /// Sends all that was given up again, oldest first: of an application or, with `receiver` (an address or an id),
    /// only what was for this receiver. Leaves out what was for disabled receivers, which accept nothing.
    pub fn resend_given_up(
        &self,
        application: &str,
        receiver: Option<&str>,
        actor: Actor,
    ) -> Result<ResentDeliveries, Error> {
        let now = self.store.clock().now();
        let resent = self.store.write(|transaction| {
            let sql = "SELECT delivery.id, disabled_at IS NOT NULL FROM webhook_delivery AS delivery
                       JOIN webhook_receiver AS receiver ON receiver.id = delivery.receiver
                       WHERE receiver.application = ?1 AND (?2 IS NULL OR receiver.url = ?2 OR receiver.id = ?2)
                         AND state = 'GIVEN_UP' AND listens_until IS NULL ORDER BY delivery.id";
            let mut statement = transaction.prepare_cached(sql)?;
            let found = statement.query_map(params![application, receiver], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?))
            })?;
            let found = found.collect::<Result<Vec<_>, _>>()?;
            let mut resent = ResentDeliveries::default();
            for (delivery, is_disabled) in found {
                if is_disabled {
                    resent.disabled += 1;
                } else {
                    resent.count += usize::from(again(transaction, now, delivery, (actor, None))?);
                }
            }
            Ok(resent)
        })?;
        self.store.delivery_wakeup().notify_one();
        Ok(resent)
    }

    /// Sends deliveries again: those that are over begin anew, and one that waits for a retry is due at once. Returns
    /// their number. `by` is the operator's name, for the audit log.
    pub fn resend(&self, deliveries: &[i64], actor: Actor, by: Option<&str>) -> Result<usize, Error> {
        let now = self.store.clock().now();
        let resent = self.store.write(|transaction| {
            let mut resent = 0;
            for delivery in deliveries {
                resent += usize::from(again(transaction, now, *delivery, (actor, by))?);
            }
            Ok(resent)
        })?;
        self.store.delivery_wakeup().notify_one();
        Ok(resent)
    }
}

/// Adds a delivery at the end of the queue.
pub(super) fn enqueue(
    connection: &Connection,
    now: i64,
    event: &str,
    receiver: &str,
    consent: &str,
) -> Result<(), Error> {
    let sql =
        "INSERT INTO webhook_delivery (event, receiver, consent, state, until_at) VALUES (?1, ?2, ?3, 'WAITING', ?4)";
    connection
        .prepare_cached(sql)?
        .execute(params![event, receiver, consent, now + TRIED_FOR])?;
    promote(connection, now, receiver, consent)
}

/// Makes the first waiting delivery of a consent at a receiver due, unless one is due already.
fn promote(connection: &Connection, now: i64, receiver: &str, consent: &str) -> Result<(), Error> {
    let sql = "UPDATE webhook_delivery SET due_at = ?3
               WHERE id = (SELECT min(id) FROM webhook_delivery
                           WHERE receiver = ?1 AND consent = ?2 AND state = 'WAITING')
                 AND NOT EXISTS (SELECT 1 FROM webhook_delivery
                                 WHERE receiver = ?1 AND consent = ?2 AND due_at IS NOT NULL)";
    connection
        .prepare_cached(sql)?
        .execute(params![receiver, consent, now])?;
    Ok(())
}

/// Returns what is due at a receiver. What waits longer than any delivery may was put off by a clock that was ahead.
fn due_at(connection: &Connection, now: i64, receiver: &str, max: usize) -> Result<Vec<DueDelivery>, Error> {
    let sql = "SELECT id, receiver FROM webhook_delivery
               WHERE receiver = ?1 AND due_at IS NOT NULL AND (due_at <= ?2 OR due_at > ?3) ORDER BY due_at, id LIMIT ?4";
    let mut statement = connection.prepare_cached(sql)?;
    let latest = now + LONGEST * 6 / 5;
    let rows = statement.query_map(params![receiver, now, latest, max as i64], |row| {
        Ok(DueDelivery {
            delivery: row.get(0)?,
            receiver: row.get(1)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn attempted(connection: &Connection, delivery: i64) -> Result<Option<Attempted>, Error> {
    let sql = "SELECT event, receiver, delivery.consent, attempts, until_at, event.application, event.type, url
               FROM webhook_delivery AS delivery
               JOIN webhook_event AS event ON event.id = delivery.event
               JOIN webhook_receiver ON webhook_receiver.id = delivery.receiver
               WHERE delivery.id = ?1 AND due_at IS NOT NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([delivery], |row| {
        Ok(Attempted {
            event: row.get(0)?,
            receiver: row.get(1)?,
            consent: row.get(2)?,
            attempts: row.get(3)?,
            until: row.get(4)?,
            application: row.get(5)?,
            event_type: row.get(6)?,
            url: row.get(7)?,
        })
    });
    Ok(found.optional()?)
}

/// Stores an attempt that the receiver has accepted.
fn delivered(connection: &Connection, now: i64, delivery: i64, status: u16) -> Result<(), Error> {
    let sql = "UPDATE webhook_delivery SET state = 'DELIVERED', due_at = NULL, attempts = attempts + 1,
               tried_at = ?2, status = ?3, failure = NULL WHERE id = ?1";
    connection
        .prepare_cached(sql)?
        .execute(params![delivery, now, status])?;
    Ok(())
}

/// Stores a failed attempt. Without a time for the next attempt, the delivery is given up.
fn failed(
    connection: &Connection,
    now: i64,
    delivery: i64,
    (status, why): (Option<u16>, &str),
    again: Option<i64>,
) -> Result<(), Error> {
    let sql = "UPDATE webhook_delivery SET state = CASE WHEN ?5 IS NULL THEN 'GIVEN_UP' ELSE 'WAITING' END,
               attempts = attempts + 1, tried_at = ?2, status = ?3, failure = ?4, due_at = ?5 WHERE id = ?1";
    let why: String = why.chars().take(LONGEST_FAILURE).collect();
    connection
        .prepare_cached(sql)?
        .execute(params![delivery, now, status, why, again])?;
    Ok(())
}

/// Writes the audit line of a delivery that was given up, and lets the next one of its consent begin.
fn give_up(connection: &Connection, now: i64, delivery: i64, attempted: &Attempted, why: &str) -> Result<(), Error> {
    promote(connection, now, &attempted.receiver, &attempted.consent)?;
    let Attempted { event, event_type, .. } = attempted;
    let why: String = why.chars().take(LONGEST_FAILURE).collect();
    let detail = format!("{event_type} {event} for {}: {why}", host(&attempted.url));
    tracing::warn!(delivery, event, event_type, why, "a webhook is given up");
    note(
        connection,
        now,
        Actor::Service,
        "webhook.given-up",
        attempted.about(),
        &detail,
    )
}

/// Sends a delivery again. Returns `false` if it waits behind another one, or is not there.
fn again(connection: &Connection, now: i64, delivery: i64, (actor, by): (Actor, Option<&str>)) -> Result<bool, Error> {
    let sql = "SELECT webhook_delivery.consent, receiver, event.application, event.id, url, disabled_at IS NOT NULL
               FROM webhook_delivery
               JOIN webhook_event AS event ON event.id = webhook_delivery.event
               JOIN webhook_receiver ON webhook_receiver.id = receiver
               WHERE webhook_delivery.id = ?1 AND (state <> 'WAITING' OR due_at IS NOT NULL)";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([delivery], |row| {
        let texts: [String; 5] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
        Ok((texts, row.get::<_, bool>(5)?))
    });
    let Some(([consent, receiver, application, event, url], is_disabled)) = found.optional()? else {
        return Ok(false);
    };
    if is_disabled {
        return Err(Error::Invalid {
            what: format!("the receiver at {}", host(&url)),
            problem: "answered 410 and is disabled; `app webhooks enable` lets it get messages again",
        });
    }
    let sql = "UPDATE webhook_delivery SET attempts = CASE state WHEN 'WAITING' THEN attempts ELSE 0 END,
               due_at = CASE state WHEN 'WAITING' THEN ?2 END, state = 'WAITING', until_at = ?3 WHERE id = ?1";
    connection.execute(sql, params![delivery, now, now + TRIED_FOR])?;
    // It comes before later events of its consent. If one of them waits for a retry, it now waits behind this one. One
    // that is due may be on its way.
    let sql = "UPDATE webhook_delivery SET due_at = NULL
               WHERE receiver = ?1 AND consent = ?2 AND id > ?3 AND due_at > ?4";
    connection.execute(sql, params![receiver, consent, delivery, now])?;
    promote(connection, now, &receiver, &consent)?;
    let detail = match by {
        Some(name) => format!("{event} to {}, by {name}", host(&url)),
        None => format!("{event} to {}", host(&url)),
    };
    let about = About {
        application: Some(&application),
        consent: Some(&consent),
        authorization: None,
    };
    note(connection, now, actor, "webhook.resent", about, &detail)?;
    Ok(true)
}

impl Attempted {
    fn about(&self) -> About<'_> {
        About {
            application: Some(&self.application),
            consent: Some(&self.consent),
            authorization: None,
        }
    }
}
