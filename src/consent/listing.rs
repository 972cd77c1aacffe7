//! Consents in a row: newest first, page by page.

use rusqlite::types::Value;
use rusqlite::{params, params_from_iter};

use super::error::Error;
use super::record::Consent;
use super::states::ConsentState;
use super::store::Store;
use super::with_sources::ConsentWithSources;
use crate::lake::Mode;

/// Which consents are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConsentFilter<'a> {
    /// Of this application.
    pub application: Option<&'a str>,
    /// Of this mode.
    pub mode: Option<Mode>,
    /// In this state.
    pub state: Option<ConsentState>,
    /// Those that come after the consent made at this time with this id.
    pub after: Option<(i64, &'a str)>,
    /// The maximum number.
    pub limit: u32,
}

impl Store {
    /// The consents that a filter admits, newest first.
    pub fn consents(&self, filter: &ConsentFilter<'_>) -> Result<Vec<ConsentWithSources>, Error> {
        let mut conditions = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        let mut equal = |column: &str, value: Option<&str>| {
            if let Some(value) = value {
                values.push(value.to_owned().into());
                conditions.push(format!("{column} = ?{}", values.len()));
            }
        };
        equal("application", filter.application);
        equal("mode", filter.mode.map(Mode::schema));
        equal("state", filter.state.map(ConsentState::name));
        if let Some((at, id)) = filter.after {
            values.extend([at.into(), id.to_owned().into()]);
            conditions.push(format!("(created_at, id) < (?{}, ?{})", values.len() - 1, values.len()));
        }
        values.push(i64::from(filter.limit).into());
        let place = match conditions.is_empty() {
            true => String::new(),
            false => format!("WHERE {}", conditions.join(" AND ")),
        };
        let condition = format!("{place} ORDER BY created_at DESC, id DESC LIMIT ?{}", values.len());
        self.read(|connection| {
            let consents = Consent::select(connection, &condition, params_from_iter(values))?;
            consents
                .into_iter()
                .map(|consent| ConsentWithSources::of(connection, consent))
                .collect()
        })
    }

    /// The ids of consents that begin like this, at most `limit`.
    pub fn consents_beginning(&self, beginning: &str, limit: u32) -> Result<Vec<String>, Error> {
        self.read(|connection| {
            let sql = "SELECT id FROM consent WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![beginning, limit], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}
