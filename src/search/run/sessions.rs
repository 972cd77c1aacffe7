//! The planners for searches over many people.

use std::sync::Arc;

use crate::plan::{Operator, Planner, SemiJoinPlanner};

/// The maximum number of partitions of a scan whose partitions are read one by one.
const MAX_PARTS: usize = 4096;

/// Two planners. The scans of `parallel` have at most one partition per processor. The scans of `in_parts` have up to
/// `MAX_PARTS` partitions.
#[derive(Debug)]
pub(in crate::search) struct Sessions {
    parallel: Planner,
    in_parts: Planner,
    /// Whether the scan gets necessary conditions, which it can check without evaluating criteria.
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

    /// Turns pushdown off, so that every criterion is evaluated on every row.
    pub(in crate::search) fn without_pushdown(self) -> Sessions {
        Sessions {
            pushdown: false,
            ..self
        }
    }

    /// Returns the planner for scans whose partitions all run at the same time.
    pub(in crate::search) fn parallel(&self) -> &Planner {
        &self.parallel
    }

    /// Returns the planner for scans whose partitions are read one by one, so that a page needs only a few of them.
    pub(in crate::search) fn in_parts(&self) -> &Planner {
        &self.in_parts
    }

    pub(in crate::search) fn pushes_down(&self) -> bool {
        self.pushdown
    }
}
