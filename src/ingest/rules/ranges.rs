//! Normalizes and writes the sorted input. All cores process one range after the other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::gather::{Gathered, RANGES, range_of_owner};
use super::kept::Shelf;
use super::normalization::Normalization;
use super::shared::Reach;
use super::unit::Common;
use super::work::{Bounds, Done, Take, Worker};
use crate::fhir::TypeId;
use crate::ingest::error::IngestError;
use crate::ingest::references::condition::Keys;
use crate::ingest::rows::block::Block;
use crate::ingest::rows::buffer::Buffer;
use crate::ingest::rows::store::Store;
use crate::ingest::summary::Summary;
use crate::ingest::sync::synced::Synced;
use crate::lake::owners::owner::OwnerKey;

/// When this number of ids of rows to delete has been collected, they are passed to the store.
const MAX_DELETED: usize = 16_384;

/// What [`normalize`] needs besides the gathered records.
pub(in crate::ingest) struct Scene {
    pub(in crate::ingest) rules: Normalization,
    pub(in crate::ingest) key: OwnerKey,
    pub(in crate::ingest) keys: Keys,
    pub(in crate::ingest) shelf: Shelf,
    /// The source and the person of a sync. `None` for an import.
    pub(in crate::ingest) synced: Option<Synced>,
    /// An owner that is a unit even if the input has no record of this owner. Its rows of the lake are then normalized.
    pub(in crate::ingest) always: Option<i64>,
    pub(in crate::ingest) threads: usize,
    /// The maximum number of bytes that wait to be written.
    pub(in crate::ingest) buffer: usize,
}

/// Applies the rules to all gathered records, and stores the result.
pub(in crate::ingest) fn normalize(
    scene: Scene,
    gathered: &Gathered,
    store: &mut Store<'_>,
    summary: &mut Summary,
) -> Result<(), IngestError> {
    let moved = gathered.moved()?;
    let common = Common {
        rules: scene.rules,
        key: scene.key,
        keys: scene.keys,
        shelf: scene.shelf,
        synced: scene.synced,
        reach: Reach::new(gathered.take_shared()),
    };
    let (always, bounds) = (scene.always, Bounds::new(scene.buffer, scene.threads));
    let output = Output {
        limit: scene.buffer,
        state: Mutex::new(State {
            buffer: Buffer::default(),
            store,
            summary,
            deleted: BTreeMap::new(),
            count: 0,
        }),
    };
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = || {
        let mut worker = Worker::new(&common, gathered, &moved, &output, bounds);
        let mut ranges = || {
            while !failed.load(Ordering::Relaxed) {
                let range = next.fetch_add(1, Ordering::Relaxed);
                if range >= RANGES {
                    break;
                }
                let always = always.filter(|owner| range_of_owner(*owner) == range);
                worker.range(range, always)?;
            }
            Ok(())
        };
        let done = ranges().and_then(|()| worker.finish());
        if done.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        done
    };
    let mut all = Done::default();
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..scene.threads).map(|_| scope.spawn(work)).collect();
        for thread in running {
            all.add(&thread.join().map_err(|_| IngestError::Worker)??);
        }
        Ok::<_, IngestError>(())
    })?;
    output.finish()?;
    (summary.rules, summary.unreadable) = (all.report, all.unreadable);
    Ok(())
}

/// Collects finished records, and writes them when there are enough. Writing uses all cores, so other threads that
/// deliver records wait meanwhile.
struct Output<'o, 'w> {
    limit: usize,
    state: Mutex<State<'o, 'w>>,
}

struct State<'o, 'w> {
    buffer: Buffer,
    store: &'o mut Store<'w>,
    summary: &'o mut Summary,
    deleted: BTreeMap<TypeId, Vec<String>>,
    /// The number of ids in `deleted`.
    count: usize,
}

impl State<'_, '_> {
    fn flush(&mut self, rest: usize) -> Result<(), IngestError> {
        let types = self.buffer.drain(rest);
        self.store.flush(&types, self.summary).map(drop)
    }

    fn delete(&mut self) -> Result<(), IngestError> {
        self.count = 0;
        let deleted = std::mem::take(&mut self.deleted);
        deleted
            .iter()
            .try_for_each(|(type_id, ids)| self.store.delete(*type_id, ids))
    }
}

impl Take for Output<'_, '_> {
    fn take(&self, blocks: Vec<Block>, beside: BTreeMap<TypeId, u64>) -> Result<(), IngestError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (type_id, rows) in beside {
            state.summary.of(type_id).read += rows;
        }
        blocks.into_iter().for_each(|block| state.buffer.push(block));
        if state.buffer.weight() > self.limit {
            state.flush(self.limit / 3)?;
        }
        Ok(())
    }

    fn delete(&self, type_id: TypeId, id: String) -> Result<(), IngestError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.deleted.entry(type_id).or_default().push(id);
        state.count += 1;
        if state.count >= MAX_DELETED {
            state.delete()
        } else {
            Ok(())
        }
    }
}

impl Output<'_, '_> {
    fn finish(self) -> Result<(), IngestError> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.flush(0)?;
        state.delete()
    }
}
