//! The position of a request among the pages of a search.

use super::super::SearchError;
use super::super::engine::Engine;
use super::super::parameters::contained::Which;
use super::super::parameters::query::Query;
use super::page_token::{Identity, PageToken, scope_seal};
use crate::lake::Scope;
use crate::lake::scan::ScopedTable;

/// A search as its links identify it, and the tag of the request's link.
#[derive(Debug)]
pub(in crate::search) struct Position {
    pub(in crate::search) search: Identity,
    /// The keyed hash of the caller's scope.
    pub(in crate::search) scope: u64,
    /// The request's tag, checked.
    pub(in crate::search) tag: Option<PageToken>,
    /// The epoch: how many erasures have changed snapshots.
    pub(in crate::search) erasures: u64,
}

impl Position {
    /// The number of matches, if an earlier page has counted them for the same scope.
    pub(in crate::search) fn total(&self) -> Option<usize> {
        self.own().filter(|_| !self.is_erased_since())?.total
    }

    /// Uses the page's position if the token has one. Otherwise the search counts the matches before the page. That
    /// happens if the link was changed, if another caller uses it, or for contained resources, which have no position.
    pub(in crate::search) fn place(&self, query: &mut Query) -> Result<(), SearchError> {
        if query.contained.which == Which::Outer {
            query.place = self
                .own()
                .filter(|tag| tag.offset == query.offset)
                .and_then(|tag| tag.place);
        }
        self.counted(query)
    }

    /// Refuses a page that is found by counting if some matches of earlier pages may have been erased.
    pub(in crate::search) fn counted(&self, query: &mut Query) -> Result<(), SearchError> {
        query.erased_since = self.is_erased_since();
        if query.erased_since && (query.offset > 0 && query.place.is_none() || query.included > 0) {
            Err(SearchError::Expired)
        } else {
            Ok(())
        }
    }

    fn is_erased_since(&self) -> bool {
        self.tag.as_ref().is_some_and(|tag| tag.erasures != self.erasures)
    }

    fn own(&self) -> Option<&PageToken> {
        self.tag.as_ref().filter(|tag| tag.scope == self.scope)
    }

    /// Checks that the searched tables still have the row at the page's position.
    pub(in crate::search) fn check(&self, query: &Query, tables: &[&ScopedTable]) -> Result<(), SearchError> {
        let Some(place) = query.place else { return Ok(()) };
        if tables.get(place.part).is_some_and(|table| table.has(place.locator)) {
            Ok(())
        } else {
            // The lake made this link, so the row existed. It has been erased.
            Err(SearchError::Expired)
        }
    }
}

impl Engine {
    /// Makes the position of a request. `address` is relative to the server's address. `parameters` are the parameters
    /// that the server understood.
    pub(in crate::search) fn course(
        &self,
        query: &Query,
        address: &str,
        parameters: &[(String, String)],
        scope: &Scope,
    ) -> Result<Position, SearchError> {
        let search = Identity::of(address, parameters);
        let tag = query.tag.as_deref();
        let tag = tag.map(|tag| PageToken::parse(tag, self.lake(), &search)).transpose()?;
        Ok(Position {
            search,
            scope: scope_seal(self.lake(), scope),
            tag,
            // Read this before the snapshot is taken. An erasure in between then counts as later.
            erasures: self.lake().snapshot().erasures(),
        })
    }
}
