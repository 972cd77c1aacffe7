//! Bringing along what a page's matches refer to and what refers to them, include by include.

use super::SearchError;
use super::engine::Engine;
use super::include::Include;
use super::included::{self, Included, Sources};
use super::page::Entry;
use crate::fhir::TypeId;
use crate::lake::scan::{Locator, Row, ScopedTable};

/// Rows that refer to a page's matches are fetched so many at a time.
const REFERRING_STEP: usize = 200;

impl Engine {
    /// What the matches bring along. Resources that are brought along are followed in turn by the includes that iterate.
    pub(super) async fn include(
        &self,
        table: &ScopedTable,
        includes: &[Include],
        skip: usize,
        matches: &[Entry],
    ) -> Result<Included, SearchError> {
        let mut included = Included::of_page(self.includes, matches, skip);
        if includes.is_empty() {
            return Ok(included);
        }
        let iterates = includes.iter().any(|include| include.iterate);
        let mut followed = Vec::new();
        merge(
            &mut followed,
            matches.iter().map(|entry| (entry.ty, entry.row.clone())).collect(),
        );
        let mut first = true;
        while !followed.is_empty() {
            let mut fresh: Vec<(TypeId, Vec<Row>)> = Vec::new();
            for (ty, rows) in &followed {
                let mut sources = Sources::new(*ty, rows);
                for include in includes.iter().filter(|include| first || include.iterate) {
                    let found = self.follow(table, include, &mut sources, &mut included).await?;
                    if iterates && !found.is_empty() {
                        merge(&mut fresh, found);
                    }
                }
            }
            first = false;
            followed = fresh;
        }
        Ok(included)
    }

    /// Brings along what one include finds for rows of one type, and gives what is new.
    async fn follow(
        &self,
        table: &ScopedTable,
        include: &Include,
        sources: &mut Sources<'_>,
        included: &mut Included,
    ) -> Result<Vec<(TypeId, Row)>, SearchError> {
        let mut new = Vec::new();
        if sources.rows.is_empty() || included.is_full() {
            return Ok(new);
        }
        if !include.reverse {
            if include.source != sources.ty {
                return Ok(new);
            }
            for (ty, id) in sources.targets(include)? {
                if included.has(ty, &id) {
                    continue;
                }
                if let Some(row) = included::target(table, ty, &id)?
                    && included.add(ty, &row)
                {
                    new.push((ty, row));
                }
            }
        } else if include.leads_to(sources.ty) {
            let table = table.other(include.source);
            let found = self.referring(&table, include, sources).await?;
            for places in found.chunks(REFERRING_STEP) {
                for row in table.resources(places)? {
                    if included.add(include.source, &row) {
                        new.push((include.source, row));
                    }
                }
                if included.is_full() {
                    break;
                }
            }
        }
        Ok(new)
    }

    /// Where the rows of an include's source type lie that refer to these rows.
    async fn referring(
        &self,
        table: &ScopedTable,
        include: &Include,
        sources: &Sources<'_>,
    ) -> Result<Vec<Locator>, SearchError> {
        let query = included::referring_query(include, sources.ty, sources.rows);
        let found = self.matches(table, &query).await?;
        match found.more {
            true => Err(SearchError::TooManyIncluded(query.count)),
            false => Ok(found.locators),
        }
    }
}

/// Puts new rows to those of their type.
fn merge(fresh: &mut Vec<(TypeId, Vec<Row>)>, found: Vec<(TypeId, Row)>) {
    for (ty, row) in found {
        match fresh.iter_mut().find(|(known, _)| *known == ty) {
            Some((_, rows)) => rows.push(row),
            None => fresh.push((ty, vec![row])),
        }
    }
}
