//! The memory that operators of all plans share, and the disk that sorts fall back on.

use std::sync::{Arc, LazyLock};

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

/// Bytes that sorts, joins and groups of all plans may hold together.
const MEMORY: usize = 1 << 30;
/// Bytes that sorts of all plans may have on disk together.
const SPILLED: u64 = 32 << 30;

/// What all plans run in. A sort that gets no more memory goes on in files of the system's temporary folder, which are
/// private and vanish with it; an operator that cannot do so fails.
pub fn runtime() -> Arc<RuntimeEnv> {
    static RUNTIME: LazyLock<Arc<RuntimeEnv>> = LazyLock::new(|| {
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::OsTmpDirectory)
            .with_max_temp_directory_size(SPILLED);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(MEMORY)))
            .with_disk_manager_builder(disk);
        // Folders are made when something is first put there, so that nothing of this can fail.
        runtime.build_arc().unwrap_or_default()
    });
    RUNTIME.clone()
}
