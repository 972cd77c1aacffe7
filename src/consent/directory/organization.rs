//! The table of organizations, which run the endpoints of the directory.

use rusqlite::{Connection, params};

use super::super::error::Error;
use super::super::log::audit::{self, About, Actor};
use super::super::store::Store;
use super::checked::{LONGEST, checked, checked_line};

/// An organization that runs endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    /// The organization's id.
    pub id: String,
    /// The organization's name.
    pub name: String,
    /// Free text, such as the plans that the organization supports.
    pub note: String,
    /// The organization's type, such as `PAYER`.
    pub organization_type: String,
}

/// The repository of organizations.
#[derive(Clone, Copy, Debug)]
pub struct Organizations<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Organizations<'_> {
    /// Adds an organization, or changes the one with its id.
    pub fn save(&self, organization: &Organization, actor: Actor) -> Result<(), Error> {
        let now = self.store.clock().now();
        checked_organization(organization)?;
        self.store
            .write(|transaction| put_organization(transaction, now, organization, actor))
    }

    /// Returns all organizations, by name.
    pub fn all(&self) -> Result<Vec<Organization>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT id, name, note, type FROM organization ORDER BY name, id";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| {
                Ok(Organization {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    note: row.get(2)?,
                    organization_type: row.get(3)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

pub(super) fn put_organization(
    connection: &Connection,
    now: i64,
    organization: &Organization,
    actor: Actor,
) -> Result<(), Error> {
    let sql = "INSERT INTO organization (id, name, note, type, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (id) DO UPDATE SET name = excluded.name, note = excluded.note, type = excluded.type";
    let Organization {
        id,
        name,
        note,
        organization_type,
    } = organization;
    connection.execute(sql, params![id, name, note, organization_type, now])?;
    audit::note(connection, now, actor, "organization.saved", About::default(), id)
}

pub(super) fn checked_organization(organization: &Organization) -> Result<(), Error> {
    checked("the organization's name", &organization.name)?;
    checked("the organization's id", &organization.id)?;
    checked("the organization's type", &organization.organization_type)?;
    checked_line("the organization's note", &organization.note, LONGEST)
}
