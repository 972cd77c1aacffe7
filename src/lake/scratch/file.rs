//! A temporary file without a name. It is written, read and sought like any other file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::place::{PIECE, changed, named, unnamed};
use crate::lake::seal::{AROUND, PieceCipher};

/// An unnamed temporary file. It is stored in encrypted pieces, and one of them is in memory in clear. Before another
/// piece is loaded, this piece is encrypted and written, if it was changed.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    file: File,
    cipher: PieceCipher,
    /// The length of the file in clear, in bytes.
    length: u64,
    place: u64,
    /// The bytes of the piece in memory. `number` is its number, and `is_changed` tells whether it must be written.
    piece: Vec<u8>,
    number: u64,
    is_changed: bool,
    sealed: Vec<u8>,
}

impl ScratchFile {
    /// Creates an empty file in this folder.
    pub(crate) fn create_in(folder: &Path) -> io::Result<ScratchFile> {
        Ok(ScratchFile {
            file: unnamed(folder)?,
            cipher: PieceCipher::random()?,
            length: 0,
            place: 0,
            piece: Vec::with_capacity(PIECE),
            number: 0,
            is_changed: false,
            sealed: Vec::new(),
        })
    }

    /// Loads the piece with this number into memory. Before that it writes the piece in memory, if that was changed.
    fn load(&mut self, number: u64) -> io::Result<()> {
        if number == self.number {
            return Ok(());
        }
        self.store()?;
        self.piece.clear();
        let start = number * PIECE as u64;
        let length = self.length.saturating_sub(start).min(PIECE as u64) as usize;
        if length > 0 {
            self.sealed.resize(length + AROUND, 0);
            self.file.read_exact_at(&mut self.sealed, slot(number))?;
            let opened = self.cipher.open(&named(number, 0), &mut self.sealed);
            self.piece.extend_from_slice(opened.ok_or_else(changed)?);
        }
        self.number = number;
        Ok(())
    }

    fn store(&mut self) -> io::Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        self.sealed.clear();
        self.cipher
            .seal(&named(self.number, 0), &self.piece, &mut self.sealed)?;
        self.file.write_all_at(&self.sealed, slot(self.number))?;
        self.is_changed = false;
        Ok(())
    }

    /// Writes bytes at the current position, which is at most the file's length. Writes at most up to the end of the
    /// piece, and returns how many bytes it has written.
    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.load(self.place / PIECE as u64)?;
        let within = (self.place % PIECE as u64) as usize;
        let count = bytes.len().min(PIECE - within);
        let end = within + count;
        if self.piece.len() < end {
            self.piece.resize(end, 0);
        }
        self.piece[within..end].copy_from_slice(&bytes[..count]);
        self.is_changed = true;
        self.place += count as u64;
        self.length = self.length.max(self.place);
        Ok(count)
    }
}

/// Returns the position of an encrypted piece on disk.
fn slot(number: u64) -> u64 {
    number * (PIECE + AROUND) as u64
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        // Fill the gap with zeros if the position is after the file's end, as the system does in other files.
        let place = self.place;
        while self.length < place {
            self.place = self.length;
            let gap = (place - self.length).min(PIECE as u64) as usize;
            self.put(&vec![0; gap])?;
        }
        self.place = place;
        self.put(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.store()
    }
}

impl Read for ScratchFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.place >= self.length || bytes.is_empty() {
            return Ok(0);
        }
        self.load(self.place / PIECE as u64)?;
        let within = (self.place % PIECE as u64) as usize;
        let count = bytes.len().min(self.piece.len() - within);
        bytes[..count].copy_from_slice(&self.piece[within..within + count]);
        self.place += count as u64;
        Ok(count)
    }
}

impl Seek for ScratchFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.place.checked_add_signed(by),
        };
        self.place = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.place)
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn it_is_what_the_same_calls_make_of_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..20 {
            let mut file = ScratchFile::create_in(folder.path()).unwrap();
            let mut memory = io::Cursor::new(Vec::new());
            for _ in 0..60 {
                let place = random.random_range(0..5 * PIECE as u64);
                let to = match random.random_range(0..4) {
                    0 => SeekFrom::Start(place),
                    1 => SeekFrom::End(-((place % (memory.get_ref().len() as u64 + 1)) as i64)),
                    _ => SeekFrom::Current(0),
                };
                assert_eq!(file.seek(to).unwrap(), memory.seek(to).unwrap());
                let length = random.random_range(0..3 * PIECE);
                if random.random_bool(0.6) {
                    let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
                    file.write_all(&bytes).unwrap();
                    memory.write_all(&bytes).unwrap();
                } else {
                    let (mut one, mut other) = (Vec::new(), Vec::new());
                    (&mut file).take(length as u64).read_to_end(&mut one).unwrap();
                    (&mut memory).take(length as u64).read_to_end(&mut other).unwrap();
                    assert!(one == other);
                }
            }
            let mut all = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut all).unwrap();
            assert!(all == *memory.get_ref());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn nothing_stands_in_clear() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = ScratchFile::create_in(folder.path()).unwrap();
        file.write_all("A letter about Ann of Athlone. ".repeat(2_000).as_bytes())
            .unwrap();
        file.flush().unwrap();
        let mut stored = vec![0; file.file.metadata().unwrap().len() as usize];
        assert!(stored.len() > 60_000);
        file.file.read_exact_at(&mut stored, 0).unwrap();
        assert_eq!(memchr::memmem::find(&stored, b"Athlone"), None);
        stored[20] ^= 1;
        file.file.write_all_at(&stored, 0).unwrap();
        file.rewind().unwrap();
        assert!(file.read_to_end(&mut Vec::new()).is_err());
    }
}
