//! The rows of sessions: encrypts and decrypts their values, and deletes rows. This file handles no consents and no
//! steps.

use rusqlite::Connection;

use super::progress::Progress;
use super::request::FlowRequest;
use super::session_key::SessionKey;
use crate::consent::access::seal::Sealer;
use crate::consent::error::Error;

/// Encrypts the values of a session. They can be decrypted for this session only.
pub(super) fn seal(
    sealer: &Sealer,
    key: SessionKey,
    request: &FlowRequest,
    progress: &Progress,
) -> Result<Vec<u8>, Error> {
    let plain = serde_json::to_vec(&(request, progress)).map_err(|_| Error::Lost("flow session"))?;
    sealer.seal(&purpose(key), &plain)
}

pub(super) fn open(sealer: &Sealer, key: SessionKey, sealed: &[u8]) -> Result<(FlowRequest, Progress), Error> {
    let plain = sealer.unseal(&purpose(key), sealed)?;
    serde_json::from_slice(&plain).map_err(|_| Error::Lost("flow session"))
}

fn purpose(key: SessionKey) -> String {
    format!("session/{}", key.text())
}

/// Deletes all sessions of a consent that has ended.
pub(in crate::consent) fn forget_sessions(connection: &Connection, consent: &str) -> Result<(), Error> {
    let sql = "DELETE FROM flow_session WHERE consent = ?1";
    connection.prepare_cached(sql)?.execute([consent])?;
    Ok(())
}

/// Deletes the ended sessions of a consent that has ended. A session that has not ended stays, so that a patient who
/// returns to it is told that the consent has ended.
pub(in crate::consent) fn forget_closed_sessions(connection: &Connection, consent: &str) -> Result<(), Error> {
    let sql = "DELETE FROM flow_session WHERE consent = ?1 AND ended_at IS NOT NULL";
    connection.prepare_cached(sql)?.execute([consent])?;
    Ok(())
}

/// Deletes the sessions that `sealer` cannot decrypt, because they were sealed with a key that is lost.
pub(in crate::consent) fn discard_unreadable_sessions(connection: &Connection, sealer: &Sealer) -> Result<(), Error> {
    let mut statement = connection.prepare("SELECT digest, sealed FROM flow_session WHERE sealed IS NOT NULL")?;
    let rows = statement.query_map([], |row| Ok((SessionKey(row.get(0)?), row.get::<_, Vec<u8>>(1)?)))?;
    for row in rows.collect::<Result<Vec<_>, _>>()? {
        let (key, sealed) = row;
        if sealer.unseal(&purpose(key), &sealed).is_err() {
            forget(connection, key)?;
        }
    }
    Ok(())
}

pub(super) fn forget(connection: &Connection, key: SessionKey) -> Result<(), Error> {
    connection.execute("DELETE FROM flow_session WHERE digest = ?1", [&key.0[..]])?;
    Ok(())
}
