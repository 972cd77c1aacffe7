//! The position of a request among the pages of its search.

use super::super::SearchError;
use super::super::engine::Engine;
use super::super::parameters::contained::Which;
use super::super::parameters::query::Query;
use super::page_token::{Identity, PageToken, scope_seal};
use crate::lake::Scope;
use crate::lake::scan::ScopedTable;

/// The identity of a search, and the page token of the request.
#[derive(Debug)]
pub(in crate::search) struct Position {
    pub(in crate::search) search: Identity,
    /// The keyed hash of the caller's scope.
    pub(in crate::search) scope: u64,
    /// The token that the request's link had, decrypted and checked. `None` for a request without a token.
    pub(in crate::search) tag: Option<PageToken>,
    /// The epoch of the lake when the request began. It changes with every recorded or finished erasure.
    pub(in crate::search) erasures: u64,
}

impl Position {
    /// Returns the number of matches, if an earlier page counted them in the same scope and no erasure has happened
    /// since.
    pub(in crate::search) fn total(&self) -> Option<usize> {
        self.own().filter(|_| !self.is_erased_since())?.total
    }

    /// Sets the position of the page in a query, if the token has one. Without a position, the search finds the page by
    /// counting the matches before it. No position is set if the client changed `_offset` in the link, if a caller with
    /// another scope uses the link, or if contained resources are searched. Then calls [`counted`](Self::counted).
    pub(in crate::search) fn place(&self, query: &mut Query) -> Result<(), SearchError> {
        if query.contained.which == Which::Outer {
            query.place = self
                .own()
                .filter(|tag| tag.offset == query.offset)
                .and_then(|tag| tag.place);
        }
        self.counted(query)
    }

    /// Records in the query whether an erasure has happened since the token was issued. If so, refuses a page whose
    /// beginning is found by counting, because some of the counted matches or included resources may have been erased.
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
            // The lake issued this token, so the row existed at that time. It does not exist now, so it has been
            // erased.
            Err(SearchError::Expired)
        }
    }
}

impl Engine {
    /// Returns the position of a request. `address` is the address of the search, relative to the address of the
    /// server's FHIR API. `parameters` are the parameters that the server understood.
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
            // The caller reads the snapshot of the search after this epoch. If an erasure happens in between, the
            // tokens of the pages have the old epoch, so they count as older than the erasure.
            erasures: self.lake().snapshot().erasures(),
        })
    }
}
