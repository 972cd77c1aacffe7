//! What all searches of a lake share: the compiled parameters, the sessions of plans, limits and terminology.
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

/// The maximum bytes of matching resources on a page. A page that reaches it ends there with a `next` link.
pub const MAX_PAGE_BYTES: usize = 16 << 20;

/// Carries out searches over one lake. Shared by all requests.
#[derive(Debug)]
pub struct Engine {
    lake: Lake,
    programs: Programs,
    sessions: Sessions,
    pub(super) includes: IncludeLimits,
    terminology: Arc<Terminology>,
}

impl Engine {
    /// An engine over a lake with these search parameters.
    pub fn new(lake: Lake, parameters: Arc<SearchParameters>) -> Engine {
        Engine {
            lake,
            programs: Programs::new(parameters),
            sessions: Sessions::new(),
            includes: IncludeLimits::default(),
            terminology: Arc::default(),
        }
    }

    /// The same with code systems and value sets for `:in`, `:not-in`, `:below` and `:above`.
    pub fn with_terminology(self, terminology: Arc<Terminology>) -> Engine {
        Engine { terminology, ..self }
    }

    /// The same with other limits for included resources.
    pub fn with_include_limits(self, includes: IncludeLimits) -> Engine {
        Engine { includes, ..self }
    }

    /// The same, but every search is a plan that evaluates each criterion on each row of its scope. It ignores
    /// statistics, dictionaries and the people that a query names. Slow. Tests compare the results of the faster ways
    /// with it.
    pub fn without_shortcuts(self) -> Engine {
        Engine {
            sessions: self.sessions.without_pushdown(),
            ..self
        }
    }

    /// The search parameters that searches of `type_id` accept.
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

    /// The parameter `_id` of a type.
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

    /// The snapshot that a tag names. Without a tag, the newest one.
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
