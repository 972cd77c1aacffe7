//! The audit log: what happened to applications, consents and keys, and who did it. Entries are added and never
//! changed. The file `audit_archive` moves old entries of ended consents to files.

use rusqlite::{Connection, Row, params};

use super::super::error::Error;
use super::super::states::named;
use super::super::store::Store;

named! {
    /// Who caused an event.
    Actor {
        /// A patient, in the consent flow or with an access token.
        Patient = "patient",
        /// An application, by its keys or one of its tokens.
        Application = "application",
        /// The operator, on the command line or in the console.
        Operator = "operator",
        /// The service itself.
        Service = "service",
    }
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AuditEntry {
    /// The entry's number. Later entries have higher numbers.
    pub id: i64,
    /// When the event happened, in seconds since the Unix epoch.
    pub at: i64,
    /// Who caused the event.
    pub actor: Actor,
    /// The kind of the event, such as `consent.created`.
    pub action: String,
    /// The id of the application that the entry is about.
    pub application: Option<String>,
    /// The id of the consent that the entry is about.
    pub consent: Option<String>,
    /// The id of the patient authorization that the entry is about.
    pub authorization: Option<String>,
    /// Further details, without secrets or record contents.
    pub detail: String,
}

/// The columns of an entry, in the order of its fields.
pub(in crate::consent) const COLUMNS: &str = "id, at, actor, action, application, consent, authorization, detail";

impl AuditEntry {
    pub(in crate::consent) fn read(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
        Ok(AuditEntry {
            id: row.get(0)?,
            at: row.get(1)?,
            actor: row.get(2)?,
            action: row.get(3)?,
            application: row.get(4)?,
            consent: row.get(5)?,
            authorization: row.get(6)?,
            detail: row.get(7)?,
        })
    }
}

/// The ids of the application, consent and authorization that an entry is about.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::consent) struct About<'a> {
    pub(in crate::consent) application: Option<&'a str>,
    pub(in crate::consent) consent: Option<&'a str>,
    pub(in crate::consent) authorization: Option<&'a str>,
}

/// Adds an entry. The caller calls this in the transaction that makes the change, so that both become visible together.
pub(in crate::consent) fn note(
    connection: &Connection,
    at: i64,
    actor: Actor,
    action: &str,
    about: About<'_>,
    detail: &str,
) -> Result<(), Error> {
    let sql = "INSERT INTO audit (at, actor, action, application, consent, authorization, detail)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    connection.prepare_cached(sql)?.execute(params![
        at,
        actor,
        action,
        about.application,
        about.consent,
        about.authorization,
        detail
    ])?;
    Ok(())
}

/// The repository of the audit log and its archive.
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Audit<'_> {
    /// Records that the operator has made or renewed a registered copy of a sealed lake's keys.
    pub fn keys_copied(&self, copy: &str) -> Result<(), Error> {
        self.note_of_operator("keys.copy", copy)
    }

    /// Records that the operator has removed the registration of a copy of the keys. Later erasures do not change this
    /// copy.
    pub fn keys_copy_forgotten(&self, copy: &str) -> Result<(), Error> {
        self.note_of_operator("keys.forget_copy", copy)
    }

    fn note_of_operator(&self, action: &str, detail: &str) -> Result<(), Error> {
        let now = self.store.clock().now();
        self.store
            .write(|transaction| note(transaction, now, Actor::Operator, action, About::default(), detail))
    }

    /// Returns at most `limit` entries, archived ones included, newest first. If a consent is given, returns only its
    /// entries.
    pub fn newest(&self, consent: Option<&str>, limit: u32) -> Result<Vec<AuditEntry>, Error> {
        let found = self.store.read(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM audit WHERE ?1 IS NULL OR consent = ?1 ORDER BY id DESC LIMIT ?2");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![consent, limit], AuditEntry::read)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })?;
        self.with_archived(found, consent, limit as usize)
    }
}
