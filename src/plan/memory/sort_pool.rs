//! Makes sorts spill early, while there is still memory for merging the rows that they keep.
//!
//! A sort keeps its input and reserves twice its bytes. Before it spills, it sorts the batches and merges them. A merge
//! by several keys encodes the keys of every row as bytes. For narrow rows, this takes three times the memory that the
//! sort has reserved. Without memory for the merge, the sort fails instead of spilling.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation, human_readable_size,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;

/// While sorts spill early, all sorts together reserve about `1 / PARTS` of the memory. The other memory is for their
/// merges. Each sort may exceed its share with its first batch.
const PARTS: usize = 4;
/// The beginning of a sort's name as a memory consumer. DataFusion registers the merge of a sort under another name.
const SORT: &str = "ExternalSorter[";

/// A `FairSpillPool` that can make sorts spill before the memory is full.
#[derive(Debug)]
pub struct SortPool {
    /// Whether sorts spill early. Other code may share this flag and change it at any time.
    early: Arc<AtomicBool>,
    pool: FairSpillPool,
    max_bytes: usize,
    /// The number of registered sorts.
    sorts: AtomicUsize,
}

impl SortPool {
    /// Creates a pool of `max_bytes` bytes. Sorts spill early while `early` is set.
    pub fn new(max_bytes: usize, early: Arc<AtomicBool>) -> SortPool {
        SortPool {
            early,
            pool: FairSpillPool::new(max_bytes),
            max_bytes,
            sorts: AtomicUsize::new(0),
        }
    }

    /// Returns the number of bytes that each sort may reserve while sorts spill early.
    fn share(&self) -> usize {
        self.max_bytes / PARTS / self.sorts.load(Ordering::Relaxed).max(1)
    }
}

/// Whether a plan has a sort by several keys that returns all rows. A sort with a limit does not count.
pub fn sorts_by_several_keys(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|node| {
        let sort = node.downcast_ref::<SortExec>();
        Ok(sort.is_some_and(|sort| sort.expr().len() > 1 && sort.fetch().is_none()))
    })
}

fn is_sort(consumer: &MemoryConsumer) -> bool {
    consumer.name().starts_with(SORT)
}

impl MemoryPool for SortPool {
    fn name(&self) -> &str {
        "sorts spill early"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.sorts.fetch_add(usize::from(is_sort(consumer)), Ordering::Relaxed);
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.sorts.fetch_sub(usize::from(is_sort(consumer)), Ordering::Relaxed);
        self.pool.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let kept = reservation.size();
        // A sort that has reserved nothing has nothing to spill. So the first batch of a sort may exceed the share.
        let exceeds = || kept > 0 && kept + additional > self.share();
        if is_sort(reservation.consumer()) && self.early.load(Ordering::Relaxed) && exceeds() {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} keeps {} and may keep {}",
                reservation.consumer().name(),
                human_readable_size(kept),
                human_readable_size(self.share())
            )));
        }
        self.pool.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.pool.memory_limit()
    }
}

impl fmt::Display for SortPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.pool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_leave_most_of_the_memory_to_others() {
        let early = Arc::new(AtomicBool::new(true));
        let pool: Arc<dyn MemoryPool> = Arc::new(SortPool::new(12_000, early.clone()));
        let sort = |at: usize| {
            let consumer = MemoryConsumer::new(format!("ExternalSorter[{at}]"));
            consumer.with_can_spill(true).register(&pool)
        };
        let one = sort(0);
        assert!(one.try_grow(3_000).is_ok() && one.try_grow(1).is_err());
        one.free();
        let other = sort(1);
        assert!(one.try_grow(1_500).is_ok() && one.try_grow(1).is_err());
        // The first batch of a sort may exceed the sort's share.
        assert!(other.try_grow(4_000).is_ok() && other.try_grow(1).is_err());
        let merge = MemoryConsumer::new("ExternalSorterMerge[0]").register(&pool);
        assert!(merge.try_grow(6_500).is_ok() && merge.try_grow(1).is_err());
        drop((one, other));
        assert_eq!(pool.reserved(), 6_500);
        let alone = sort(2);
        assert!(alone.try_grow(3_000).is_ok() && alone.try_grow(1).is_err());
        early.store(false, Ordering::Relaxed);
        assert!(alone.try_grow(2_500).is_ok() && alone.try_grow(1).is_err());
    }
}
