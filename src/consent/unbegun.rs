//! Flows that no browser has opened: a request started a session, and no browser loaded a page of the session. Anybody
//! can send such requests, so the audit log gets no line for each of them. The sweep deletes these consents and counts
//! them by day and application. As soon as a day is over, its count is written to the audit log.

use rusqlite::{Connection, Transaction, params};

use super::error::Error;
use super::flow::SessionKey;
use super::log::audit::{About, Actor, note};
use super::record::Consent;

const DAY: i64 = 86_400;

/// Records that a browser has loaded a page of the session or taken a step in it. The first call for a session writes
/// the audit line `consent.created`.
pub(super) fn begin(transaction: &Transaction<'_>, now: i64, key: SessionKey, consent: &Consent) -> Result<(), Error> {
    let sql = "UPDATE flow_session SET begun_at = ?2 WHERE digest = ?1 AND begun_at IS NULL";
    match transaction.prepare_cached(sql)?.execute(params![key.bytes(), now])? {
        0 => Ok(()),
        _ => consent.note_created(transaction, now),
    }
}

/// Deletes a consent that no browser has opened, and counts it. Returns `false` and does nothing for any other
/// consent.
pub(super) fn forget(connection: &Connection, consent: &Consent) -> Result<bool, Error> {
    let sql = "SELECT EXISTS (SELECT 1 FROM flow_session WHERE consent = ?1 AND begun_at IS NULL)";
    let unbegun: bool = connection
        .prepare_cached(sql)?
        .query_row([&consent.id], |row| row.get(0))?;
    if !unbegun {
        return Ok(false);
    }
    connection
        .prepare_cached("DELETE FROM consent WHERE id = ?1")?
        .execute([&consent.id])?;
    let sql = "INSERT INTO unbegun_flow (day, application, flows) VALUES (?1, ?2, 1)
               ON CONFLICT (day, application) DO UPDATE SET flows = flows + 1";
    let day = consent.created_at.div_euclid(DAY);
    connection
        .prepare_cached(sql)?
        .execute(params![day, consent.application])?;
    Ok(true)
}

/// Writes the counts of past days to the audit log. A day is past when even a flow that began in its last second has
/// been idle for too long. From then on, its count does not grow any more.
pub(super) fn note_counts(transaction: &Transaction<'_>, now: i64) -> Result<(), Error> {
    let over = (now - super::moves::IDLE_SECONDS).div_euclid(DAY);
    let counts: Vec<(i64, String, i64)> = {
        let sql = "SELECT day, application, flows FROM unbegun_flow WHERE day < ?1 ORDER BY day, application";
        let mut statement = transaction.prepare_cached(sql)?;
        let rows = statement.query_map([over], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    for (day, application, flows) in counts {
        let about = About {
            application: Some(&application),
            ..About::default()
        };
        let date = chrono::DateTime::from_timestamp(day * DAY, 0)
            .unwrap_or_default()
            .date_naive();
        let detail = format!("{flows} on {date}");
        note(transaction, now, Actor::Service, "flow.never-begun", about, &detail)?;
    }
    transaction.execute("DELETE FROM unbegun_flow WHERE day < ?1", [over])?;
    Ok(())
}
