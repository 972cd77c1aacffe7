//! A text file that is written once, from start to end, and then read from start to end any number of times. It has a
//! name, so many such files can exist without being open. Several files can share a key.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::aead::NONCE_LEN;

use super::place::{PIECE, changed, named};
use crate::lake::seal::{AROUND, PieceCipher};
use crate::private;

/// The length of the file's header. The header is a random number, which is authenticated with each piece. So a piece
/// of another file cannot be decrypted here.
const HEAD: usize = 8;

/// The key of text files. It exists only in memory, until its last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct ScratchKey(Arc<PieceCipher>);

impl ScratchKey {
    /// Makes a random key.
    pub(crate) fn random() -> io::Result<ScratchKey> {
        PieceCipher::random().map(|cipher| ScratchKey(Arc::new(cipher)))
    }
}

/// A text file: a clear file of the caller, or an encrypted temporary file.
#[derive(Clone, Debug)]
pub struct TextFile {
    path: PathBuf,
    key: Option<ScratchKey>,
}

impl From<PathBuf> for TextFile {
    fn from(path: PathBuf) -> TextFile {
        TextFile { path, key: None }
    }
}

impl TextFile {
    /// Returns the temporary file at `path`, which is encrypted with this key. Does not open it.
    pub(crate) fn sealed(path: PathBuf, key: &ScratchKey) -> TextFile {
        let key = Some(key.clone());
        TextFile { path, key }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for reading from its start.
    pub fn open(&self) -> io::Result<TextReader> {
        let file = File::open(&self.path)?;
        let Some(key) = &self.key else {
            return Ok(TextReader(Opened::Clear(file)));
        };
        let mut file = BufReader::with_capacity(PIECE + AROUND, file);
        let mut head = [0; HEAD];
        file.read_exact(&mut head)?;
        Ok(TextReader(Opened::Sealed(Box::new(Sealed {
            file,
            key: key.clone(),
            head: u64::from_le_bytes(head),
            number: 0,
            piece: Vec::with_capacity(PIECE + AROUND),
            left: 0..0,
            is_over: false,
        }))))
    }
}

/// A reader of a text file.
#[derive(Debug)]
pub struct TextReader(Opened);

#[derive(Debug)]
enum Opened {
    Clear(File),
    Sealed(Box<Sealed>),
}

#[derive(Debug)]
struct Sealed {
    file: BufReader<File>,
    key: ScratchKey,
    head: u64,
    number: u64,
    piece: Vec<u8>,
    /// The range of `piece` that is not read yet.
    left: std::ops::Range<usize>,
    is_over: bool,
}

impl Read for TextReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Opened::Clear(file) => file.read(bytes),
            Opened::Sealed(sealed) => sealed.read(bytes),
        }
    }
}

impl Sealed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.left.is_empty() && !self.is_over {
            self.advance()?;
        }
        let count = bytes.len().min(self.left.len());
        bytes[..count].copy_from_slice(&self.piece[self.left.start..self.left.start + count]);
        self.left.start += count;
        Ok(count)
    }

    /// Decrypts the next piece. Only the last piece is shorter than [`PIECE`], so a shorter piece ends the file.
    fn advance(&mut self) -> io::Result<()> {
        self.piece.clear();
        let whole = (PIECE + AROUND) as u64;
        (&mut self.file).take(whole).read_to_end(&mut self.piece)?;
        self.is_over = self.piece.len() < PIECE + AROUND;
        let place = named(self.head, self.number);
        let length = self.key.0.open(&place, &mut self.piece).ok_or_else(changed)?.len();
        // The decrypted bytes follow the nonce.
        self.left = NONCE_LEN..NONCE_LEN + length;
        self.number += 1;
        Ok(())
    }
}

/// A writer of an encrypted temporary text file.
#[derive(Debug)]
pub(crate) struct TextWriter {
    file: BufWriter<File>,
    key: ScratchKey,
    head: u64,
    number: u64,
    piece: Vec<u8>,
    sealed: Vec<u8>,
}

impl TextWriter {
    /// Creates the file, or empties an existing one, and writes the header.
    pub(crate) fn create(path: &Path, key: &ScratchKey) -> io::Result<TextWriter> {
        let file = private::create(path)?;
        let (head, _) = uuid::Uuid::new_v4().as_u64_pair();
        let mut file = BufWriter::with_capacity(PIECE + AROUND, file);
        file.write_all(&head.to_le_bytes())?;
        Ok(TextWriter {
            file,
            key: key.clone(),
            head,
            number: 0,
            piece: Vec::new(),
            sealed: Vec::new(),
        })
    }

    /// Writes the last piece. Without this call the file cannot be read to its end.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.end_piece()?;
        self.file.flush()
    }

    fn end_piece(&mut self) -> io::Result<()> {
        self.sealed.clear();
        let place = named(self.head, self.number);
        self.key.0.seal(&place, &self.piece, &mut self.sealed)?;
        self.file.write_all(&self.sealed)?;
        self.piece.clear();
        self.number += 1;
        Ok(())
    }
}

impl Write for TextWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        if self.piece.len() == PIECE {
            self.end_piece()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        // This writes only whole pieces. `finish` writes the bytes that do not fill a piece.
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &Path, key: &ScratchKey, text: &[u8]) {
        let mut writer = TextWriter::create(path, key).unwrap();
        text.chunks(1_000).for_each(|part| writer.write_all(part).unwrap());
        writer.finish().unwrap();
    }

    fn read(file: &TextFile) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        file.open()?.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn text_comes_back_as_often_as_it_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (path, key) = (folder.path().join("x.ndjson"), ScratchKey::random().unwrap());
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 4 * PIECE, 4 * PIECE + 5] {
            let text: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            written(&path, &key, &text);
            for _ in 0..2 {
                assert!(read(&TextFile::sealed(path.clone(), &key)).unwrap() == text, "{length}");
            }
            std::fs::write(&path, &text).unwrap();
            assert!(read(&path.clone().into()).unwrap() == text);
        }
    }

    #[test]
    fn without_its_key_it_is_not_read_and_what_was_cut_off_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, key) = (folder.path().join("x.ndjson"), ScratchKey::random().unwrap());
        let text = "A letter about Ann of Athlone.\n".repeat(2_000);
        written(&path, &key, text.as_bytes());
        let file = TextFile::sealed(path.clone(), &key);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(memchr::memmem::find(&whole, b"Athlone"), None);
        assert!(read(&TextFile::sealed(path.clone(), &ScratchKey::random().unwrap())).is_err());
        for end in [
            0,
            7,
            8,
            30,
            HEAD + PIECE + AROUND,
            HEAD + 2 * (PIECE + AROUND),
            whole.len() - 1,
        ] {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert!(read(&file).is_err(), "{end}");
        }
        // Use the pieces of another file with the same key.
        let other = folder.path().join("y.ndjson");
        written(&other, &key, text.as_bytes());
        let other = std::fs::read(other).unwrap();
        std::fs::write(&path, [&whole[..HEAD], &other[HEAD..]].concat()).unwrap();
        assert!(read(&file).is_err());
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(read(&file).unwrap(), text.as_bytes());
    }
}
