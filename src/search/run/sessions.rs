//! The planners for searches over many people.

use std::sync::Arc;

use crate::plan::{Operator, Planner, SemiJoinPlanner};

/// The maximum number of partitions of a scan whose parts are read one by one.
const MAX_PARTS: usize = 4096;

/// Two planners: one for whole scans, and one for scans with the maximum number of parts.
#[derive(Debug)]
pub(in crate::search) struct Sessions {
    parallel: Planner,
    in_parts: Planner,
    /// Whether the scan gets conditions that it can decide without evaluating criteria.
    pushdown: bool,
}

impl Sessions {
    pub(in crate::search) fn new() -> Sessions {
        let operators = || -> Vec<Operator> { vec![Arc::new(SemiJoinPlanner)] };
        Sessions {
            parallel: Planner::new(None, operators()),
            in_parts: Planner::new(Some(MAX_PARTS), operators()),
            pushdown: true,
        }
    }

    /// The same, but every criterion is evaluated on every row.
    pub(in crate::search) fn without_pushdown(self) -> Sessions {
        Sessions {
            pushdown: false,
            ..self
        }
    }

    /// The planner for whole scans.
    pub(in crate::search) fn parallel(&self) -> &Planner {
        &self.parallel
    }

    /// The planner for scans whose parts are read one by one.
    pub(in crate::search) fn in_parts(&self) -> &Planner {
        &self.in_parts
    }

    pub(in crate::search) fn pushes_down(&self) -> bool {
        self.pushdown
    }
}
