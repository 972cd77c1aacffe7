//! The memory that the operators of all plans share, and the limit of the files to which sorts spill. SQL sessions have
//! pools of their own.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use datafusion::common::Result;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

use super::sort_pool::SortPool;
use super::spill::spilling;

/// The maximum bytes of memory that the sorts, joins and aggregations of all plans use together.
const MEMORY: usize = 1 << 30;
/// The maximum bytes that the sorts of all plans have in spill files at one time.
const SPILLED: u64 = 32 << 30;

/// Returns the memory pool and the spill files that all plans share. If a sort gets no more memory, it continues in
/// encrypted files in the system's temporary folder. The files are removed when the sort ends. An operator that cannot
/// spill fails.
pub fn runtime() -> Arc<RuntimeEnv> {
    // Building the runtime does not fail, because it creates no files. Files are created when a sort spills.
    static RUNTIME: LazyLock<Arc<RuntimeEnv>> = LazyLock::new(|| bounded(MEMORY, SPILLED).unwrap_or_default());
    RUNTIME.clone()
}

fn bounded(memory: usize, spilled: u64) -> Result<Arc<RuntimeEnv>> {
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(SortPool::new(memory, Arc::new(AtomicBool::new(true)))))
        .with_disk_manager_builder(spilling(&std::env::temp_dir(), spilled))
        .build_arc()
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, RecordBatch, UInt64Array};
    use arrow::datatypes::{DataType, Field, Schema, UInt64Type};
    use datafusion::execution::memory_pool::MemoryLimit;
    use datafusion::physical_plan::collect;
    use datafusion::prelude::{Expr, SessionConfig, SessionContext, ident, lit};

    use super::*;

    const ROWS: u64 = 600_000;

    /// Sorts the numbers by some keys. Returns them and the number of times the sort spilled.
    async fn sorted(runtime: Arc<RuntimeEnv>, keys: Vec<Expr>) -> Result<(Vec<u64>, usize)> {
        let schema = Arc::new(Schema::new(vec![Field::new("number", DataType::UInt64, false)]));
        let batches = (0..ROWS).step_by(10_000).map(|from| {
            let numbers = (from..from + 10_000).map(|number| (number * 7_919) % ROWS);
            let column = Arc::new(UInt64Array::from_iter_values(numbers));
            RecordBatch::try_new(schema.clone(), vec![column]).unwrap()
        });
        let config = SessionConfig::new()
            .with_target_partitions(1)
            .with_sort_spill_reservation_bytes(1 << 16);
        let context = SessionContext::new_with_config_rt(config, runtime);
        let frame = context.read_batches(batches.collect::<Vec<_>>())?;
        let plan = frame.sort(keys.into_iter().map(|key| key.sort(true, false)).collect())?;
        let plan = plan.create_physical_plan().await?;
        let found = collect(plan.clone(), context.task_ctx()).await?;
        let numbers = found
            .iter()
            .flat_map(|batch| batch.column(0).as_primitive::<UInt64Type>().values().to_vec());
        Ok((
            numbers.collect(),
            plan.metrics().unwrap().spill_count().unwrap_or_default(),
        ))
    }

    #[test]
    fn a_sort_beyond_its_memory_goes_on_on_disk_as_far_as_that_is_allowed() {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let key = || vec![ident("number")];
        let run = |memory, disk| tokio.block_on(sorted(bounded(memory, disk).unwrap(), key()));
        let expected: Vec<u64> = (0..ROWS).collect();
        let (found, spills) = run(1 << 26, 1 << 30).unwrap();
        assert!(found == expected && spills == 0, "{spills} spills");
        let (found, spills) = run(2 << 20, 1 << 30).unwrap();
        assert!(found == expected && spills > 0, "{spills} spills");
        let error = run(2 << 20, 1 << 12).unwrap_err();
        assert!(error.to_string().contains("exceeded the allowable limit"), "{error}");
    }

    /// For narrow rows, the merge by several keys takes more memory than the rows.
    #[test]
    fn a_sort_by_several_keys_spills_before_its_merge_lacks_memory() {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let keys = vec![ident("number") % lit(7_u64), ident("number")];
        let runtime = bounded(4 << 20, 1 << 30).unwrap();
        let (found, spills) = tokio.block_on(sorted(runtime, keys)).unwrap();
        let mut expected: Vec<u64> = (0..ROWS).collect();
        expected.sort_by_key(|number| (number % 7, *number));
        assert!(found == expected && spills > 0, "{spills} spills");
    }

    #[test]
    fn what_plans_run_in_is_bounded() {
        assert!(matches!(
            runtime().memory_pool.memory_limit(),
            MemoryLimit::Finite(MEMORY)
        ));
    }
}
