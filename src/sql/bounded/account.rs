//! Counts the results of functions in the memory pool of a statement, for as long as the results exist.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::array::{Array, ArrayRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

/// The name of the consumer in the pool.
const CONSUMER: &str = "functions";
/// A single constant has at most `1 / CONSTANTS` of the memory. DataFusion copies constants often: into names of
/// columns, and into each row of a batch.
const CONSTANTS: usize = 1024;
/// The minimum of this limit in bytes.
const MIN_CONSTANT: usize = 4 << 10;
/// One step of a function makes at most `1 / STEPS` of the memory, if a single row does not need more.
const STEPS: usize = 16;
/// The minimum of this limit in bytes.
const MIN_STEP: usize = 64 << 10;
/// Results with fewer bytes are not counted after the function has returned.
const SMALL: usize = 4 << 10;
/// An array of texts has at most this number of bytes, because its offsets have 32 bits.
const MAX_ARRAY: u64 = i32::MAX as u64;

/// The memory of the results of a statement's functions.
#[derive(Debug)]
pub(in crate::sql) struct Account {
    pool: Arc<dyn MemoryPool>,
    memory: usize,
    results: Mutex<Results>,
    /// The constants that functions have made for the current statement. `None` if no statement was planned here.
    constants: Mutex<Option<MemoryReservation>>,
}

/// Arrays that functions returned, with the memory that is reserved for each.
#[derive(Debug, Default)]
struct Results {
    alive: Vec<(Weak<dyn Array>, MemoryReservation)>,
    /// The number of arrays at which those that no longer exist are removed.
    sweep_at: usize,
}

impl Results {
    fn sweep(&mut self) {
        self.alive.retain(|(array, _)| array.strong_count() > 0);
        self.sweep_at = (self.alive.len() * 2).max(64);
    }
}

impl Account {
    /// Creates an account in a pool of this many bytes.
    pub(in crate::sql) fn new(pool: Arc<dyn MemoryPool>, memory: usize) -> Account {
        Account {
            pool,
            memory,
            results: Mutex::default(),
            constants: Mutex::default(),
        }
    }

    /// Begins to count the constants that functions make for a statement, while it is planned and while it runs. Those
    /// of the statement before no longer count.
    pub(in crate::sql) fn begin_statement(&self) {
        let mut constants = self.constants.lock().unwrap_or_else(PoisonError::into_inner);
        *constants = Some(MemoryConsumer::new(CONSUMER).register(&self.pool));
    }

    /// The limit of all memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// The maximum bytes of a single constant.
    fn max_constant(&self) -> usize {
        (self.memory / CONSTANTS).max(MIN_CONSTANT)
    }

    /// The maximum bytes that one step of a function makes, if it has several rows.
    pub(super) fn max_step(&self) -> u64 {
        (self.memory / STEPS).max(MIN_STEP) as u64
    }

    /// Reserves memory for the results of a function. Fails if the pool has no memory left, or if no array can hold the
    /// results.
    pub(super) fn reserve(&self, bytes: u64) -> Result<MemoryReservation> {
        let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes as u64 <= MAX_ARRAY);
        let bytes = bytes.ok_or_else(too_large)?;
        let reservation = MemoryConsumer::new(CONSUMER).register(&self.pool);
        if reservation.try_grow(bytes).is_err() {
            self.results.lock().unwrap_or_else(PoisonError::into_inner).sweep();
            reservation.try_grow(bytes)?;
        }
        Ok(reservation)
    }

    /// Keeps the memory of a result reserved as long as the array exists.
    pub(super) fn keep(&self, array: &ArrayRef, reservation: MemoryReservation) -> Result<()> {
        let bytes = array.get_array_memory_size();
        reservation.try_resize(bytes)?;
        if bytes < SMALL {
            return Ok(());
        }
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if results.alive.len() >= results.sweep_at {
            results.sweep();
        }
        results.alive.push((Arc::downgrade(array), reservation));
        Ok(())
    }

    /// Counts a constant of this many bytes until the statement ends. A small constant does not count, because it may
    /// be computed again for each batch. Fails if the constant is too large. A list may be as large as the result of a
    /// step, because its copies share its memory.
    pub(super) fn constant(&self, bytes: usize, is_list: bool) -> Result<()> {
        let max = if is_list {
            self.max_step() as usize
        } else {
            self.max_constant()
        };
        if bytes > max {
            return Err(too_large());
        }
        match &*self.constants.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(constants) if bytes >= SMALL => constants.try_grow(bytes),
            _ => Ok(()),
        }
    }
}

/// Returns the error for a result that is larger than any limit.
pub(super) fn too_large() -> DataFusionError {
    DataFusionError::ResourcesExhausted("the result of a function is too large".to_owned())
}
