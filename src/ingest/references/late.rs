//! Resources that wait for the end of the input, because a conditional reference has no match yet or because another
//! resource decides their owner. They are in memory up to a limit, then in an unnamed, encrypted temporary file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::rows::block::Origin;
use crate::fhir::{TypeId, facts};
use crate::lake::scratch::Parts;

/// If the waiting resources in memory exceed this number of bytes, all of them go to the temporary file.
const IN_MEMORY: usize = 32 << 20;
/// The maximum number of bytes that are read from the temporary file at once.
const RUN: usize = 1 << 20;

/// A resource that waits for the end of the input.
#[derive(Debug)]
pub(in crate::ingest) struct LateResource {
    pub(in crate::ingest) type_id: TypeId,
    pub(in crate::ingest) ordinal: u64,
    pub(in crate::ingest) file: Arc<Path>,
    pub(in crate::ingest) origin: Origin,
    pub(in crate::ingest) text: Vec<u8>,
}

/// Resources that wait for the end of the input.
#[derive(Debug)]
pub(in crate::ingest) struct Late {
    /// The folder for the temporary file.
    folder: PathBuf,
    files: Vec<Arc<Path>>,
    memory: Vec<u8>,
    spilled: Option<Arc<Parts>>,
    /// The offset and the length of each part of the temporary file.
    runs: Vec<(u64, usize)>,
    /// For each waiting resource, by a hash of its type and id: the ordinal of its last occurrence in the input so far.
    waiting: FxHashMap<u64, u64>,
}

impl Late {
    pub(in crate::ingest) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            files: Vec::new(),
            memory: Vec::new(),
            spilled: None,
            runs: Vec::new(),
            waiting: FxHashMap::default(),
        }
    }

    /// Adds a waiting resource. `hash` is a hash of its type and id.
    pub(in crate::ingest) fn push(&mut self, hash: u64, resource: &LateResource) -> io::Result<()> {
        if self.files.last().is_none_or(|last| *last != resource.file) {
            self.files.push(Arc::clone(&resource.file));
        }
        self.seen(hash, resource.ordinal);
        self.waiting.entry(hash).or_insert(resource.ordinal);
        let numbers = [
            hash,
            resource.type_id.index() as u64,
            resource.ordinal,
            self.files.len() as u64 - 1,
            resource.origin.line,
            resource.origin.entry.map_or(u64::MAX, u64::from),
            resource.text.len() as u64,
        ];
        numbers
            .iter()
            .for_each(|number| self.memory.extend_from_slice(&number.to_le_bytes()));
        self.memory.extend_from_slice(&resource.text);
        if self.memory.len() > IN_MEMORY {
            let file = match &self.spilled {
                Some(file) => file,
                None => self.spilled.insert(Arc::new(Parts::create_in(&self.folder)?)),
            };
            for run in self.memory.chunks(RUN) {
                self.runs.push((file.add(run)?, run.len()));
            }
            self.memory.clear();
        }
        Ok(())
    }

    /// Records an occurrence of a resource in the input. If an earlier version of the resource waits, it is no longer
    /// the latest one.
    pub(in crate::ingest) fn seen(&mut self, hash: u64, ordinal: u64) {
        if self.waiting.is_empty() {
            return;
        }
        if let Some(latest) = self.waiting.get_mut(&hash) {
            *latest = ordinal.max(*latest);
        }
    }

    pub(in crate::ingest) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Reads the waiting resources in the order in which they were added. The flag is `true` if the input has no later
    /// version of the resource so far. This function can be called several times.
    pub(in crate::ingest) fn read(&self) -> io::Result<impl Iterator<Item = io::Result<(LateResource, bool)>> + use<>> {
        let rest = io::Cursor::new(self.memory.clone());
        let mut reader: Box<dyn Read> = match &self.spilled {
            Some(file) => Box::new(Runs::of(file, self.runs.clone()).chain(rest)),
            None => Box::new(rest),
        };
        let (files, waiting) = (self.files.clone(), self.waiting.clone());
        Ok(std::iter::from_fn(move || {
            next(&mut reader, &files, &waiting).transpose()
        }))
    }
}

fn next(
    reader: &mut dyn Read,
    files: &[Arc<Path>],
    waiting: &FxHashMap<u64, u64>,
) -> io::Result<Option<(LateResource, bool)>> {
    let mut numbers = [0u64; 7];
    for (at, number) in numbers.iter_mut().enumerate() {
        let mut bytes = [0; 8];
        match reader.read_exact(&mut bytes) {
            Ok(()) => *number = u64::from_le_bytes(bytes),
            Err(error) if at == 0 && error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let [hash, type_index, ordinal, file, line, entry, length] = numbers;
    let mut text = vec![0; length as usize];
    reader.read_exact(&mut text)?;
    let type_id = facts()
        .types()
        .nth(type_index as usize)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let resource = LateResource {
        type_id,
        ordinal,
        file: Arc::clone(&files[file as usize]),
        origin: Origin {
            line,
            entry: u32::try_from(entry).ok(),
        },
        text,
    };
    let latest = waiting.get(&hash).is_none_or(|latest| *latest == ordinal);
    Ok(Some((resource, latest)))
}

/// Reads the parts of the temporary file one after the other.
struct Runs {
    file: Arc<Parts>,
    runs: std::vec::IntoIter<(u64, usize)>,
    run: Vec<u8>,
    /// The number of bytes of `run` that were read.
    read: usize,
}

impl Runs {
    fn of(file: &Arc<Parts>, runs: Vec<(u64, usize)>) -> Runs {
        Runs {
            file: Arc::clone(file),
            runs: runs.into_iter(),
            run: Vec::new(),
            read: 0,
        }
    }
}

impl Read for Runs {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.read == self.run.len()
            && let Some((at, length)) = self.runs.next()
        {
            self.run.clear();
            self.file.read(at, length, 0..length, &mut self.run)?;
            self.read = 0;
        }
        let count = bytes.len().min(self.run.len() - self.read);
        bytes[..count].copy_from_slice(&self.run[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_come_back_in_order_from_memory_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut late = Late::new(folder.path().to_owned());
        let file: Arc<Path> = Path::new("a.ndjson").into();
        let type_id = facts().lookup("Patient").unwrap();
        for ordinal in 0..40 {
            let origin = Origin {
                line: ordinal + 1,
                entry: (ordinal % 2 == 0).then_some(7),
            };
            let text = vec![ordinal as u8; 1 << 20];
            late.push(
                ordinal,
                &LateResource {
                    type_id,
                    ordinal,
                    file: Arc::clone(&file),
                    origin,
                    text,
                },
            )
            .unwrap();
        }
        assert!(late.spilled.is_some());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        late.seen(3, 100);
        late.seen(1000, 100);
        for _ in 0..2 {
            let read: Vec<_> = late.read().unwrap().map(Result::unwrap).collect();
            assert_eq!(read.len(), 40);
            for (ordinal, (resource, latest)) in read.iter().enumerate() {
                assert_eq!(
                    (resource.ordinal, resource.origin.line),
                    (ordinal as u64, ordinal as u64 + 1)
                );
                assert_eq!(resource.origin.entry, (ordinal % 2 == 0).then_some(7));
                assert_eq!(resource.text, vec![ordinal as u8; 1 << 20]);
                assert_eq!(*latest, ordinal != 3);
            }
        }
    }
}
