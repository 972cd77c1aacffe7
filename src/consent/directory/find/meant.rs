//! Decides which endpoints can be found, and when the index is rebuilt.
//!
//! Triggers of the store count the changes of the directory, including those by other processes. The index is rebuilt
//! when the count has changed. It is also rebuilt after an hour, because popularity changes without a change of the
//! directory.

use std::cmp::Reverse;
use std::sync::Arc;

use rusqlite::{Connection, Row};

use super::super::super::error::Error;
use super::super::super::mode::mode_of;
use super::super::super::record::AuthorizationType;
use super::super::endpoint::{EndpointStatus, Endpoints};
use super::catalogue::{Made, Numbered};
use super::index::{Index, Known};
use super::words::fold;
use crate::lake::Mode;

/// For how many seconds a source's grant counts towards the popularity of its endpoint.
const LATELY_SECONDS: i64 = 90 * 86_400;

const LISTED: &str = "SELECT endpoint.id, endpoint.mode, endpoint.type, endpoint.name, label, organization.name,
        organization.type, place, rank, COALESCE(granted.consents, 0)
    FROM endpoint JOIN organization ON organization.id = endpoint.organization
    LEFT JOIN organization_profile ON organization_profile.organization = organization.id
    LEFT JOIN (SELECT endpoint, count(DISTINCT consent) AS consents FROM patient_authorization
               WHERE authorized_at >= ?2 GROUP BY endpoint) AS granted ON granted.endpoint = endpoint.id
    WHERE endpoint.status <> ?1";

/// An endpoint of the directory with its organization.
struct Listed {
    numbered: Numbered,
    known: Known,
    /// The number of consents in which the endpoint has recently granted access.
    consents: i64,
    /// The organization's rank, which the operator has set.
    rank: Option<i64>,
}

impl Listed {
    /// Returns the sort key: the most popular endpoint first, then by the operator's rank, then by name.
    fn order(&self) -> impl Ord + use<> {
        let name = self.known.names.iter().find(|name| !name.is_empty());
        let rank = self.rank.unwrap_or(i64::MAX);
        let name = name.map(|name| fold(name));
        (Reverse(self.consents), rank, name, self.numbered.id.clone())
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Listed> {
        let labels: String = row.get(4)?;
        // If the list of labels is unreadable, the endpoint can still be found by its other names.
        let mut names: Vec<String> = serde_json::from_str(&labels).unwrap_or_default();
        names.push(row.get(5)?);
        Ok(Listed {
            numbered: Numbered {
                id: row.get(0)?,
                mode: mode_of(&row.get::<_, String>(1)?),
                authorization_type: row.get(2)?,
            },
            known: Known {
                names,
                technical: row.get(3)?,
                kind: row.get(6)?,
                place: row.get(7)?,
            },
            rank: row.get(8)?,
            consents: row.get(9)?,
        })
    }
}

impl Endpoints<'_> {
    /// Returns the ids of at most `limit` endpoints of a mode and of these types (of all types if the list is empty)
    /// that match a text, the best match first. UNAVAILABLE endpoints never match. A text without words matches all
    /// other endpoints of the mode and types, the most popular first.
    pub(in crate::consent) fn meant(
        &self,
        mode: Mode,
        text: &str,
        types: &[AuthorizationType],
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        let made = self.made_catalogue()?;
        let admits = |number: usize| {
            let one = &made.endpoints[number];
            one.mode == mode && (types.is_empty() || types.contains(&one.authorization_type))
        };
        let found = made.index.find(text, limit, admits).into_iter();
        Ok(found.map(|number| made.endpoints[number].id.clone()).collect())
    }

    /// Returns the index of the present directory, and rebuilds it if necessary. Other searches wait meanwhile.
    fn made_catalogue(&self) -> Result<Arc<Made>, Error> {
        let now = self.store.clock().now();
        let mut held = self.store.catalogue().lock();
        let change = self.store.read(changes)?;
        if let Some(made) = held.as_ref().filter(|made| made.is_fresh(change, now)) {
            return Ok(made.clone());
        }
        let mut listed = self.store.read(|connection| listed(connection, now))?;
        listed.sort_by_cached_key(Listed::order);
        let (endpoints, known): (Vec<_>, Vec<_>) = listed.into_iter().map(|one| (one.numbered, one.known)).unzip();
        let made = Arc::new(Made {
            change,
            made_at: now,
            index: Index::of(&known),
            endpoints,
        });
        *held = Some(made.clone());
        Ok(made)
    }
}

fn changes(connection: &Connection) -> Result<i64, Error> {
    let mut statement = connection.prepare_cached("SELECT number FROM directory_change")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

fn listed(connection: &Connection, now: i64) -> Result<Vec<Listed>, Error> {
    let mut statement = connection.prepare(LISTED)?;
    let since = now - LATELY_SECONDS;
    let rows = statement.query_map(rusqlite::params![EndpointStatus::Unavailable, since], Listed::read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
