//! Bytes in numbered bins: in memory up to a limit, then in an unnamed, encrypted temporary file.
//!
//! This module decides where the bytes are. Callers decide what the bytes mean, and to which bin they belong.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::lake::scratch::Parts;

/// Bytes in numbered bins. Several threads may add bytes at the same time.
#[derive(Debug)]
pub(in crate::ingest) struct Spill {
    /// The folder for the temporary file.
    folder: PathBuf,
    /// The maximum number of bytes in memory.
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bins: Vec<Vec<Part>>,
    memory: usize,
    file: Option<Arc<Parts>>,
}

/// The bytes of one call of [`Spill::add`].
#[derive(Clone, Debug)]
struct Part {
    /// The number of bytes before this part in the bin.
    start: u64,
    length: usize,
    place: Location,
}

#[derive(Clone, Debug)]
enum Location {
    Memory(Arc<[u8]>),
    File(u64),
}

/// The parts of one bin.
#[derive(Debug, Default)]
pub(in crate::ingest) struct Bin {
    parts: Vec<Part>,
    file: Option<Arc<Parts>>,
}

impl Spill {
    /// Creates an empty spill with this number of bins.
    pub(in crate::ingest) fn new(folder: &Path, bins: usize, limit: usize) -> Spill {
        Spill {
            folder: folder.to_owned(),
            limit,
            state: Mutex::new(State {
                bins: vec![Vec::new(); bins],
                ..State::default()
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes to the end of a bin, as one part.
    pub(in crate::ingest) fn add(&self, bin: usize, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut state = self.state();
        let before = state.bins[bin].last();
        let start = before.map_or(0, |part| part.start + part.length as u64);
        let fits = state.memory + bytes.len() <= self.limit;
        let part = |place| Part {
            start,
            length: bytes.len(),
            place,
        };
        if fits {
            state.memory += bytes.len();
            state.bins[bin].push(part(Location::Memory(bytes.into())));
            return Ok(());
        }
        let file = match &state.file {
            Some(file) => file.clone(),
            None => state.file.insert(Arc::new(Parts::create_in(&self.folder)?)).clone(),
        };
        let at = file.reserve(bytes.len());
        state.bins[bin].push(part(Location::File(at)));
        drop(state);
        file.write(at, bytes)
    }

    /// Returns the number of bytes in memory.
    #[cfg(test)]
    pub(in crate::ingest) fn in_memory(&self) -> usize {
        self.state().memory
    }

    /// Returns the content of a bin. It stays in the spill.
    pub(in crate::ingest) fn get(&self, bin: usize) -> Bin {
        let state = self.state();
        Bin {
            parts: state.bins[bin].clone(),
            file: state.file.clone(),
        }
    }

    /// Removes and returns the content of a bin.
    pub(in crate::ingest) fn take(&self, bin: usize) -> Bin {
        let mut state = self.state();
        let parts = std::mem::take(&mut state.bins[bin]);
        let kept = |part: &Part| match part.place {
            Location::Memory(_) => part.length,
            Location::File(_) => 0,
        };
        state.memory -= parts.iter().map(kept).sum::<usize>();
        Bin {
            parts,
            file: state.file.clone(),
        }
    }
}

impl Bin {
    /// Returns the number of bytes in the bin.
    pub(in crate::ingest) fn len(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.start + part.length as u64)
    }

    /// Calls `visit` for each part, with its position in the bin.
    pub(in crate::ingest) fn parts<E: From<io::Error>>(
        &self,
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut buffer = Vec::new();
        for part in &self.parts {
            let bytes = match &part.place {
                Location::Memory(bytes) => &bytes[..],
                Location::File(_) => {
                    buffer.clear();
                    self.copy(part, 0, part.length, &mut buffer)?;
                    &buffer[..]
                }
            };
            visit(part.start, bytes)?;
        }
        Ok(())
    }

    /// Replaces the content of `out` with all bytes of the bin.
    pub(in crate::ingest) fn load(&self, out: &mut Vec<u8>) -> io::Result<()> {
        out.clear();
        out.reserve(self.len() as usize);
        self.parts
            .iter()
            .try_for_each(|part| self.copy(part, 0, part.length, out))
    }

    /// Replaces the content of `out` with the bytes at a position of the bin. All of them must belong to one part.
    pub(in crate::ingest) fn fetch(&self, at: u64, length: usize, out: &mut Vec<u8>) -> io::Result<()> {
        out.clear();
        let part = self.parts.partition_point(|part| part.start <= at);
        let part = part.checked_sub(1).map(|place| &self.parts[place]);
        let part = part.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        self.copy(part, (at - part.start) as usize, length, out)
    }

    fn copy(&self, part: &Part, from: usize, length: usize, out: &mut Vec<u8>) -> io::Result<()> {
        if from + length > part.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match (&part.place, &self.file) {
            (Location::Memory(bytes), _) => {
                out.extend_from_slice(&bytes[from..from + length]);
                Ok(())
            }
            (Location::File(at), Some(file)) => file.read(*at, part.length, from..from + length, out),
            (Location::File(_), None) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_give_back_what_they_got_from_memory_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path(), 3, 50);
        let mut expected = vec![Vec::new(); 3];
        for at in 0..30_u8 {
            let bytes = vec![at; usize::from(at)];
            spill.add(usize::from(at % 3), &bytes).unwrap();
            expected[usize::from(at % 3)].extend(bytes);
        }
        assert!(spill.state().file.is_some());
        assert!(spill.in_memory() <= 50);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "the file has no name"
        );
        for (bin, expected) in expected.iter().enumerate() {
            let bin = spill.take(bin);
            assert_eq!(bin.len(), expected.len() as u64);
            let mut out = vec![7];
            bin.load(&mut out).unwrap();
            assert_eq!(out, *expected);
            let mut parts = Vec::new();
            bin.parts(|at, bytes| {
                assert_eq!(at, parts.len() as u64);
                parts.extend_from_slice(bytes);
                Ok::<_, io::Error>(())
            })
            .unwrap();
            assert_eq!(parts, *expected);
            bin.fetch(bin.len() - 5, 4, &mut out).unwrap();
            assert_eq!(out, expected[expected.len() - 5..expected.len() - 1]);
            assert!(bin.fetch(bin.len() - 5, 40, &mut out).is_err());
        }
        assert_eq!(spill.in_memory(), 0);
        assert_eq!(spill.take(0).len(), 0);
    }
}
