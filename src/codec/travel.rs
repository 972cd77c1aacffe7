//! The state of one conversion: of the encoding or the decoding of one plan. It has the objects that the plan's parts
//! need, and the first error.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionState;

use super::error::CodecError;
use crate::lake::Lake;
use crate::plan::DynamicFilters;
use crate::search::Engine;
use crate::terminology::Terminology;

/// The lake, the search engine and the other objects that all conversions of a codec share.
pub(super) struct Known {
    pub(super) lake: Lake,
    pub(super) engine: Arc<Engine>,
    pub(super) terminology: Option<Arc<Terminology>>,
    pub(super) state: SessionState,
    pub(super) context: Arc<TaskContext>,
}

/// The state of one conversion of a plan, which is an encoding or a decoding. Clones share it.
#[derive(Clone)]
pub(super) struct Travel(Arc<Way>);

struct Way {
    codec: Arc<Known>,
    filters: DynamicFilters,
    /// The first error of the conversion. It is kept here, because the error that DataFusion returns would keep only
    /// its text.
    failed: Mutex<Option<CodecError>>,
    /// Whether at least one encoded scan knew the sort above it. If so, optimizer rules must tell the decoded scan
    /// about the sort.
    is_told: AtomicBool,
}

impl Travel {
    pub(super) fn new(codec: &Arc<Known>) -> Travel {
        Travel(Arc::new(Way {
            codec: codec.clone(),
            filters: DynamicFilters::default(),
            failed: Mutex::default(),
            is_told: AtomicBool::new(false),
        }))
    }

    pub(super) fn lake(&self) -> &Lake {
        &self.0.codec.lake
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.0.codec.engine
    }

    pub(super) fn terminology(&self) -> Option<Arc<Terminology>> {
        self.0.codec.terminology.clone()
    }

    pub(super) fn state(&self) -> &SessionState {
        &self.0.codec.state
    }

    pub(super) fn context(&self) -> Arc<TaskContext> {
        self.0.codec.context.clone()
    }

    pub(super) fn filters(&self) -> &DynamicFilters {
        &self.0.filters
    }

    /// Records that optimizer rules must tell a decoded scan about the sort above it.
    pub(super) fn note_told(&self) {
        self.0.is_told.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_told(&self) -> bool {
        self.0.is_told.load(Ordering::Relaxed)
    }

    /// Keeps the first error. Returns an error without details for DataFusion.
    pub(super) fn fail(&self, error: CodecError) -> DataFusionError {
        let mut failed = self.0.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
        DataFusionError::Plan("a part of the plan cannot travel".to_owned())
    }

    /// Returns the kept error and removes it.
    pub(super) fn failed(&self) -> Option<CodecError> {
        self.0.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Travel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Travel").finish_non_exhaustive()
    }
}
