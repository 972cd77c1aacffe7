//! The state that all searches of a lake share: the compiled parameters, the planners, limits and terminology.
//!
//! The searches themselves are methods of `Engine` in `run`, `joins`, `includes` and `record`.

use std::sync::Arc;

use super::SearchError;
use super::bundle::attached::AddressSigner;
use super::includes::included::IncludeLimits;
use super::note::Note;
use super::paging::page_token::PageToken;
use super::parameters::parameter::{Compiled, Programs, Reading};
use super::parameters::resolver::{Resolver, Surroundings};
use super::run::sessions::Sessions;
use crate::fhir::TypeId;
use crate::fhir::search_parameter::{SearchParameter, SearchParameters};
use crate::lake::scan::{Budget, ScopedTable, Stop};
use crate::lake::{Lake, LakeError, Scope, Snapshot};
use crate::terminology::Terminology;

/// The maximum bytes of matching resources on a page. If the next resource would exceed it, the page ends before this
/// resource, and its `next` link leads to it. The first resource of a page may be larger.
pub const MAX_PAGE_BYTES: usize = 16 << 20;

/// The maximum work of one search, in the unit of a [`Budget`]. `base` is about a second of one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkLimits {
    /// The work that every search may do.
    pub base: u64,
    /// The work that a search with an application's token may do in addition, for each resource that the lake stores in
    /// the token's mode. To search the text of a resource for words (`_content`) takes less than half of this.
    pub per_resource: u64,
}

impl Default for WorkLimits {
    fn default() -> WorkLimits {
        WorkLimits {
            base: 64 << 20,
            per_resource: 512,
        }
    }
}

/// Runs searches over one lake. All requests share one engine. It is cheap to clone.
#[derive(Clone, Debug)]
pub struct Engine {
    lake: Lake,
    programs: Arc<Programs>,
    sessions: Arc<Sessions>,
    pub(super) includes: IncludeLimits,
    terminology: Arc<Terminology>,
    work: WorkLimits,
    /// Ends the searches of this engine.
    stop: Stop,
    /// Remarks about the records that the searches find.
    notes: Arc<[Note]>,
    /// Signs the addresses of attachments in the answers of this engine.
    signer: Option<AddressSigner>,
}

impl Engine {
    /// Creates an engine over a lake. Searches accept only the parameters in `parameters`, and those that R4 defines
    /// without a SearchParameter.
    pub fn new(lake: Lake, parameters: Arc<SearchParameters>) -> Engine {
        Engine {
            lake,
            programs: Arc::new(Programs::new(parameters)),
            sessions: Arc::new(Sessions::new()),
            includes: IncludeLimits::default(),
            terminology: Arc::default(),
            work: WorkLimits::default(),
            stop: Stop::default(),
            notes: Arc::default(),
            signer: None,
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

    /// Sets the limits for the work of one search.
    pub fn with_work_limits(self, work: WorkLimits) -> Engine {
        Engine { work, ..self }
    }

    /// Returns the same engine for one request. When `stop` is asked, the searches of the returned engine end with an
    /// error.
    pub fn until(&self, stop: Stop) -> Engine {
        Engine { stop, ..self.clone() }
    }

    /// Returns the same engine for one request, whose answers have these remarks.
    pub fn noting(self, notes: Arc<[Note]>) -> Engine {
        Engine { notes, ..self }
    }

    pub(super) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns the same engine for one request. If there is a signer, it signs the addresses of attachments in the
    /// Bundles of the returned engine.
    pub fn signing(self, signer: Option<AddressSigner>) -> Engine {
        Engine { signer, ..self }
    }

    pub(super) fn signer(&self) -> Option<&AddressSigner> {
        self.signer.as_ref()
    }

    /// Makes every search a plan that evaluates each criterion on each row of its scope. The plan ignores statistics,
    /// dictionaries and the patients that a query names, so it is slow. Tests compare its results with the results of
    /// the faster ways to search.
    pub fn without_shortcuts(self) -> Engine {
        Engine {
            sessions: Arc::new(Sessions::new().without_pushdown()),
            ..self
        }
    }

    /// Returns the search parameters that searches of `type_id` accept.
    pub fn supported(&self, type_id: TypeId) -> impl Iterator<Item = &Arc<SearchParameter>> {
        self.programs.supported(type_id)
    }

    /// Returns the budget of one search by a caller with this scope.
    pub(super) fn budget(&self, scope: &Scope) -> Arc<Budget> {
        let WorkLimits { base, per_resource } = self.work;
        // A patient's token reaches one person's records, however many resources the lake stores.
        let stored = match scope.patient {
            Some(_) => 0,
            None => self.lake.snapshot().stored(scope.mode),
        };
        let work = base.saturating_add(stored.saturating_mul(per_resource));
        Arc::new(Budget::new(work, self.stop.clone()))
    }

    /// Returns a table for one search, which reads within the search's budget.
    pub(super) fn table(
        &self,
        snapshot: &Arc<Snapshot>,
        type_id: TypeId,
        scope: &Arc<Scope>,
        budget: &Arc<Budget>,
    ) -> ScopedTable {
        self.lake.table(snapshot, type_id, scope).within(budget)
    }

    /// Returns the resolver of one search. Its work is taken from the search's budget. `None` if the work is not
    /// bounded.
    pub(super) fn resolver<'a>(&'a self, now: i64, base: &'a str, budget: Option<&'a Budget>) -> Resolver<'a> {
        let around = Surroundings {
            now_us: now,
            base,
            terminology: &self.terminology,
        };
        Resolver::new(&self.programs, around, budget)
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
