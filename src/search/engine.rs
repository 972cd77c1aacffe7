//! The state that all searches of a lake share: the compiled parameters, the planners, limits and terminology.
//!
//! The searches themselves are methods of `Engine` in `run`, `joins`, `includes` and `record`.

use std::sync::Arc;

use super::SearchError;
use super::includes::included::IncludeLimits;
use super::paging::page_token::PageToken;
use super::parameters::parameter::{Compiled, Programs, Reading};
use super::parameters::resolver::{Resolver, Surroundings};
use super::run::sessions::Sessions;
use crate::fhir::TypeId;
use crate::fhir::search_parameter::{SearchParameter, SearchParameters};
use crate::lake::{Lake, LakeError, Snapshot};
use crate::terminology::Terminology;

/// The maximum bytes of matching resources on a page. If the next resource would exceed it, the page ends before this
/// resource, and its `next` link leads to it. The first resource of a page may be larger.
pub const MAX_PAGE_BYTES: usize = 16 << 20;

/// Runs searches over one lake. All requests share one engine.
#[derive(Debug)]
pub struct Engine {
    lake: Lake,
    programs: Programs,
    sessions: Sessions,
    pub(super) includes: IncludeLimits,
    terminology: Arc<Terminology>,
}

impl Engine {
    /// Creates an engine over a lake. Searches accept only the parameters in `parameters`, and those that R4 defines
    /// without a SearchParameter.
    pub fn new(lake: Lake, parameters: Arc<SearchParameters>) -> Engine {
        Engine {
            lake,
            programs: Programs::new(parameters),
            sessions: Sessions::new(),
            includes: IncludeLimits::default(),
            terminology: Arc::default(),
        }
    }

    /// Sets the code systems and value sets for `:in`, `:not-in`, `:below` and `:above`.
    pub fn with_terminology(self, terminology: Arc<Terminology>) -> Engine {
        Engine { terminology, ..self }
    }

    /// Sets the limits for included resources.
    pub fn with_include_limits(self, includes: IncludeLimits) -> Engine {
        Engine { includes, ..self }
    }

    /// Makes every search a plan that evaluates each criterion on each row of its scope. The plan ignores statistics,
    /// dictionaries and the patients that a query names, so it is slow. Tests compare its results with the results of
    /// the faster ways to search.
    pub fn without_shortcuts(self) -> Engine {
        Engine {
            sessions: self.sessions.without_pushdown(),
            ..self
        }
    }

    /// Returns the search parameters that searches of `type_id` accept.
    pub fn supported(&self, type_id: TypeId) -> impl Iterator<Item = &Arc<SearchParameter>> {
        self.programs.supported(type_id)
    }

    pub(super) fn resolver<'a>(&'a self, now: i64, base: &'a str) -> Resolver<'a> {
        Resolver::new(
            &self.programs,
            Surroundings {
                now_us: now,
                base,
                terminology: &self.terminology,
            },
        )
    }

    /// Returns the compiled parameter `_id` of a type.
    pub(super) fn ids_of(&self, type_id: TypeId) -> Result<Option<Arc<Compiled>>, SearchError> {
        self.programs.get(type_id, "_id", Reading::Values)
    }

    pub(super) fn programs(&self) -> &Programs {
        &self.programs
    }

    pub(super) fn lake(&self) -> &Lake {
        &self.lake
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the snapshot that a page token names. Without a token, returns the newest one. If the snapshot no longer
    /// exists, the error is `Expired`.
    pub(super) fn snapshot(&self, tag: Option<&PageToken>) -> Result<Arc<Snapshot>, SearchError> {
        match tag {
            None => Ok(self.lake.snapshot()),
            Some(tag) => self.lake.snapshot_at(tag.snapshot).map_err(|error| match error {
                LakeError::SnapshotGone { .. } => SearchError::Expired,
                other => SearchError::Lake(other),
            }),
        }
    }
}
