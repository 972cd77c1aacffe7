//! Holds a response until it is complete, because its headers depend on all of its bytes. A small response is in
//! memory. A larger one is in an unnamed file, encrypted with a key that is only in memory. The system removes the
//! file when the process ends.
//!
//! One response has a size limit, and so have all responses of a server together. Bytes count until the response was
//! sent or the client has disconnected.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use bytes::Bytes;

use crate::lake::scratch::ScratchFile;

/// The maximum bytes of a response in memory.
const IN_MEMORY: usize = 1 << 20;
/// The maximum bytes that are read at once while a response is sent.
const PIECE: usize = 256 << 10;

/// The limits of a server's held responses, and the bytes in use.
#[derive(Debug)]
pub(super) struct Spools {
    used: AtomicU64,
    /// The maximum bytes of all responses together.
    max: u64,
    /// The maximum bytes of one response.
    largest: u64,
}

/// Why a spool accepts no more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    /// The response exceeds its own limit.
    #[error("the answer is too long")]
    One,
    /// All responses together reach their limit.
    #[error("too many answers are on their way")]
    All,
}

/// A response that is being written or sent.
#[derive(Debug)]
pub(super) struct Spool {
    written: Written,
    folder: PathBuf,
    place: u64,
    length: u64,
    full: Option<Full>,
    spools: Arc<Spools>,
}

/// The written bytes.
#[derive(Debug)]
enum Written {
    Memory(Cursor<Vec<u8>>),
    File(Box<ScratchFile>),
}

impl Spools {
    /// Creates the limits, in bytes: `max` for all responses together, `largest` for one.
    pub(super) fn new(max: u64, largest: u64) -> Arc<Spools> {
        Arc::new(Spools {
            used: AtomicU64::new(0),
            max,
            largest,
        })
    }

    /// Begins a response. If it becomes large, its file is in this folder.
    pub(super) fn begin(self: &Arc<Spools>, folder: &Path) -> Spool {
        Spool {
            written: Written::Memory(Cursor::default()),
            folder: folder.to_owned(),
            place: 0,
            length: 0,
            full: None,
            spools: self.clone(),
        }
    }
}

impl Spool {
    /// Returns why the last write failed. `None` if no write exceeded a limit.
    pub(super) fn full(&self) -> Option<Full> {
        self.full
    }

    /// Returns the number of written bytes, and a body that sends them. `held` is dropped after the last byte, or
    /// when the client disconnects.
    pub(super) fn into_body(mut self, held: impl Send + 'static) -> io::Result<(u64, Body)> {
        self.rewind()?;
        let length = self.length;
        let pieces = futures::stream::try_unfold((self, held), |(mut spool, held)| async move {
            // Read on a blocking thread: waiting for the disk must not block other requests.
            let reading = tokio::task::spawn_blocking(move || {
                let piece = spool.piece()?;
                Ok::<_, io::Error>((piece, spool))
            });
            let (piece, spool) = reading.await.map_err(io::Error::other)??;
            Ok::<_, io::Error>((!piece.is_empty()).then_some((piece, (spool, held))))
        });
        Ok((length, Body::from_stream(pieces)))
    }

    fn piece(&mut self) -> io::Result<Bytes> {
        let mut bytes = Vec::with_capacity(PIECE);
        self.take(PIECE as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    /// Counts the bytes up to the position `end` against the limits.
    fn grow(&mut self, end: u64) -> Result<(), Full> {
        let more = end.saturating_sub(self.length);
        let spools = &self.spools;
        if end > spools.largest {
            return Err(Full::One);
        }
        if spools.used.fetch_add(more, Ordering::Relaxed) + more > spools.max {
            spools.used.fetch_sub(more, Ordering::Relaxed);
            return Err(Full::All);
        }
        self.length += more;
        Ok(())
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(full) = self.grow(self.place + bytes.len() as u64) {
            self.full = Some(full);
            return Err(io::Error::other(full));
        }
        if let Written::Memory(memory) = &self.written
            && self.place + bytes.len() as u64 > IN_MEMORY as u64
        {
            let mut file = Box::new(ScratchFile::create_in(&self.folder)?);
            file.write_all(memory.get_ref())?;
            file.seek(SeekFrom::Start(self.place))?;
            self.written = Written::File(file);
        }
        let written = match &mut self.written {
            Written::Memory(memory) => memory.write(bytes)?,
            Written::File(file) => file.write(bytes)?,
        };
        self.place += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Spool {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.written {
            Written::Memory(memory) => memory.read(bytes)?,
            Written::File(file) => file.read(bytes)?,
        };
        self.place += read as u64;
        Ok(read)
    }
}

impl Seek for Spool {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.place = match &mut self.written {
            Written::Memory(memory) => memory.seek(to)?,
            Written::File(file) => file.seek(to)?,
        };
        Ok(self.place)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.spools.used.fetch_sub(self.length, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(spools: &Arc<Spools>, folder: &Path, bytes: usize) -> Result<Spool, Option<Full>> {
        let mut spool = spools.begin(folder);
        match spool.write_all(&vec![7; bytes]) {
            Ok(()) => Ok(spool),
            Err(_) => Err(spool.full()),
        }
    }

    #[tokio::test]
    async fn what_was_written_comes_back_and_leaves_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let spools = Spools::new(100 << 20, 10 << 20);
        for (bytes, on_disk) in [(0, false), (5, false), (IN_MEMORY, false), (3 * IN_MEMORY + 7, true)] {
            let mut spool = written(&spools, folder.path(), bytes).unwrap();
            // The writer of an archive seeks back to fill in values that it did not know before.
            if bytes > 0 {
                spool.seek(SeekFrom::Start(1)).unwrap();
                spool.write_all(b"ab").unwrap();
                spool.seek(SeekFrom::End(0)).unwrap();
            }
            assert_eq!(matches!(spool.written, Written::File(_)), on_disk, "{bytes}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            let (length, body) = spool.into_body(()).unwrap();
            let read = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let mut expected = vec![7; bytes];
            if bytes > 0 {
                expected[1..3].copy_from_slice(b"ab");
            }
            assert_eq!((length, read.len()), (bytes as u64, bytes));
            assert!(read == expected, "{bytes}");
        }
        assert_eq!(spools.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_and_all_have_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let spools = Spools::new(25, 10);
        let write = |bytes| written(&spools, folder.path(), bytes);
        assert_eq!(write(11).err(), Some(Some(Full::One)));
        let (one, two) = (write(10).unwrap(), write(10).unwrap());
        assert_eq!(write(10).err(), Some(Some(Full::All)));
        assert!(write(5).is_ok());
        drop(one);
        assert!(write(10).is_ok());
        drop(two);
        assert_eq!(spools.used.load(Ordering::Relaxed), 0);
    }

    /// A body that is dropped before its end frees its bytes.
    #[tokio::test]
    async fn a_client_that_leaves_gives_everything_back() {
        let folder = tempfile::tempdir().unwrap();
        let spools = Spools::new(100 << 20, 10 << 20);
        for bytes in [IN_MEMORY / 2, 4 * IN_MEMORY] {
            let held = Arc::new(());
            let (_, body) = written(&spools, folder.path(), bytes)
                .unwrap()
                .into_body(held.clone())
                .unwrap();
            let mut body = body.into_data_stream();
            assert!(futures::StreamExt::next(&mut body).await.unwrap().is_ok());
            assert_eq!(Arc::strong_count(&held), 2, "{bytes}");
            assert_eq!(spools.used.load(Ordering::Relaxed), bytes as u64);
            drop(body);
            assert_eq!(Arc::strong_count(&held), 1, "{bytes}");
            assert_eq!(spools.used.load(Ordering::Relaxed), 0, "{bytes}");
        }
    }
}
