//! The files to which operators spill when they get no more memory. The files are encrypted with a key that exists only
//! in memory. They have no name in the file system, and their total size is limited.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures::Stream;

use crate::lake::scratch::Parts;

/// The minimum number of bytes that a writer collects before it encrypts and writes them as one portion (`run`). Only a
/// flush and the end of the file write smaller portions. A reader reads one portion at a time.
const RUN: usize = 256 << 10;

/// Lets plans spill into files in a folder. All files that exist at one time hold at most `max_bytes` bytes.
pub fn spilling(folder: &Path, max_bytes: u64) -> DiskManagerBuilder {
    DiskManagerBuilder::default().with_temp_file_factory(Arc::new(Spills {
        folder: folder.to_owned(),
        room: Arc::new(Room {
            used: AtomicU64::new(0),
            max: max_bytes,
        }),
    }))
}

struct Spills {
    folder: PathBuf,
    room: Arc<Room>,
}

struct Room {
    used: AtomicU64,
    max: u64,
}

impl TempFileFactory for Spills {
    fn create_temp_file(&self, _description: &str) -> Result<Arc<dyn SpillFile>> {
        let parts = Parts::create_in(&self.folder).map_err(DataFusionError::IoError)?;
        Ok(Arc::new(Spilled(Arc::new(Inner {
            parts,
            runs: Mutex::default(),
            size: AtomicU64::new(0),
            room: self.room.clone(),
        }))))
    }
}

/// One spill file.
struct Spilled(Arc<Inner>);

struct Inner {
    parts: Parts,
    /// The portions in the order of the file. Each has its offset in `parts`, and its length before encryption.
    runs: Mutex<Vec<(u64, usize)>>,
    /// The size of the file before encryption, including the bytes that the writer still collects.
    size: AtomicU64,
    room: Arc<Room>,
}

impl Inner {
    fn run(&self, number: usize) -> Option<(u64, usize)> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.get(number).copied()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let size = self.size.load(Ordering::Relaxed);
        self.room.used.fetch_sub(size, Ordering::Relaxed);
    }
}

impl SpillFile for Spilled {
    fn size(&self) -> Option<u64> {
        Some(self.0.size.load(Ordering::Relaxed))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let runs = futures::stream::try_unfold((self.0.clone(), 0), |(inner, number)| async move {
            let Some((at, length)) = inner.run(number) else {
                return Ok(None);
            };
            // The read runs on a blocking thread, so that tasks on this thread do not wait for the disk.
            let reading = SpawnedTask::spawn_blocking(move || {
                let mut run = Vec::with_capacity(length);
                inner.parts.read(at, length, 0..length, &mut run).map(|()| (run, inner))
            });
            let read = reading
                .join()
                .await
                .map_err(|error| DataFusionError::External(Box::new(error)))?;
            let (run, inner) = read.map_err(DataFusionError::IoError)?;
            Ok(Some((Bytes::from(run), (inner, number + 1))))
        });
        Ok(Box::pin(runs))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(Writer {
            inner: self.0.clone(),
            run: Vec::new(),
        }))
    }
}

struct Writer {
    inner: Arc<Inner>,
    /// Bytes that are not encrypted and written yet.
    run: Vec<u8>,
}

impl Writer {
    fn put(&mut self) -> io::Result<()> {
        if self.run.is_empty() {
            return Ok(());
        }
        let at = self.inner.parts.add(&self.run)?;
        let mut runs = self.inner.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.push((at, self.run.len()));
        self.run.clear();
        Ok(())
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (room, more) = (&self.inner.room, bytes.len() as u64);
        if room.used.fetch_add(more, Ordering::Relaxed) + more > room.max {
            room.used.fetch_sub(more, Ordering::Relaxed);
            let max = room.max;
            return Err(io::Error::other(format!(
                "what operators spill has exceeded the allowable limit of {max} bytes"
            )));
        }
        self.inner.size.fetch_add(more, Ordering::Relaxed);
        self.run.extend_from_slice(bytes);
        if self.run.len() >= RUN {
            self.put()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put()
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        self.put().map_err(DataFusionError::IoError)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A failure cannot be returned from here. A caller that must know whether everything was written calls `finish`
        // first.
        let _ = self.put();
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn what_was_spilled_comes_back_and_is_nowhere_in_clear() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(spilling(folder.path(), 4 << 20).build().unwrap());
        let file = disk.create_tmp_file("a test").unwrap();
        let text = "A letter about Ann of Athlone. ".repeat(30_000);
        let mut writer = file.open_writer().unwrap();
        text.as_bytes()
            .chunks(999)
            .for_each(|part| writer.write_all(part).unwrap());
        writer.finish().unwrap();
        assert_eq!((file.size(), file.path()), (Some(text.len() as u64), None));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        for _ in 0..2 {
            let runs: Vec<Bytes> = file.read_stream().unwrap().try_collect().await.unwrap();
            assert!(runs.concat() == text.as_bytes());
        }
        // The limit applies to all files together. A dropped file no longer counts.
        let full = |file: &Arc<dyn SpillFile>| file.open_writer().unwrap().write_all(&vec![1; 7 << 19]).is_err();
        let other = disk.create_tmp_file("a test").unwrap();
        assert!(full(&other));
        drop((file, writer));
        assert!(!full(&other));
    }
}
