//! An attachment in a sealed lake: its bytes in pieces. Each piece is encrypted by itself (AES-256-GCM) under the
//! file's key, so that any part can be read without the rest. The trailer at the file's end is encrypted in the same
//! way.
//!
//! ```text
//! TABATT2\n | id of the key, 16 bytes | pieces | sealed trailer | its length, u32 | TABATT2\n
//! a piece, and the trailer:  nonce, 12 bytes | encrypted bytes | tag, 16 bytes
//! ```
//!
//! The authenticated data of a piece are the key's id, the piece's number, and whether it is the last piece. Those of
//! the trailer are the key's id and the length of all pieces. So a file does not open if it was cut off, or if its
//! pieces were exchanged.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};

use super::trailer::{BLOCK, LONGEST_TEXT, Trailer, hexadecimal};
use crate::lake::seal::{self, FileKey, KeyId, Keys, PieceCipher};
use crate::private;

/// The first and the last bytes of a sealed attachment.
pub(super) const MAGIC: &[u8; 8] = b"TABATT2\n";
const ID: usize = 16;
/// The length of the first fields: the format, and the key's id.
const HEAD: u64 = (MAGIC.len() + ID) as u64;
/// The length of the last fields: the length of the trailer, and the format.
const TAIL: u64 = 4 + MAGIC.len() as u64;
/// The number of bytes by which encryption lengthens a piece: a nonce and a tag.
const AROUND: u64 = seal::AROUND as u64;

/// The cipher for the pieces of a file.
#[derive(Debug)]
pub(super) struct SealedPieces {
    cipher: Cipher,
    /// The length of the attachment's bytes in clear.
    bytes: u64,
}

impl SealedPieces {
    /// Opens a file of this length that ends like a sealed attachment. Returns its trailer and the cipher for its
    /// pieces.
    pub(super) fn open(file: &File, length: u64, keys: &Keys) -> io::Result<(Trailer, SealedPieces)> {
        let mut head = [0; HEAD as usize];
        let rest = length.checked_sub(HEAD + TAIL + AROUND).ok_or_else(damaged)?;
        file.read_exact_at(&mut head, 0)?;
        let (magic, id) = head.split_at(MAGIC.len());
        let id = KeyId::from_bytes(id).filter(|_| magic == MAGIC).ok_or_else(damaged)?;
        let mut tail = [0; 4];
        file.read_exact_at(&mut tail, length - TAIL)?;
        let text = u64::from(u32::from_le_bytes(tail));
        let pieces = (rest + AROUND).checked_sub(text).ok_or_else(damaged)?;
        if text > LONGEST_TEXT + AROUND {
            return Err(damaged());
        }
        let cipher = Cipher::new(&keys.key(&id).map_err(io::Error::other)?)?;
        let mut sealed = vec![0; text as usize];
        file.read_exact_at(&mut sealed, HEAD + pieces)?;
        let text = cipher.open(&of_trailer(pieces), sealed).ok_or_else(damaged)?;
        let trailer: Trailer = serde_json::from_slice(&text).map_err(|_| damaged())?;
        let bytes = trailer.bytes;
        if sealed_length(bytes) != Some(pieces) {
            return Err(damaged());
        }
        Ok((trailer, SealedPieces { cipher, bytes }))
    }

    /// Returns the cipher for the pieces of a file that has no trailer yet. `bytes` is the length of the bytes in
    /// clear.
    pub(super) fn unfinished(key: &FileKey, bytes: u64) -> io::Result<SealedPieces> {
        let cipher = Cipher::new(key)?;
        Ok(SealedPieces { cipher, bytes })
    }

    /// Reads and decrypts all pieces, one after the other.
    pub(super) fn all<'f>(&'f self, file: &'f File) -> impl Iterator<Item = io::Result<Vec<u8>>> + 'f {
        (0..self.bytes.div_ceil(BLOCK as u64)).map(|number| self.read(file, number))
    }

    /// Reads and decrypts the piece with this number.
    pub(super) fn read(&self, file: &File, number: u64) -> io::Result<Vec<u8>> {
        let block = BLOCK as u64;
        let left = self
            .bytes
            .checked_sub(number.saturating_mul(block))
            .filter(|left| *left > 0);
        let left = left.ok_or_else(damaged)?;
        let mut sealed = vec![0; (left.min(block) + AROUND) as usize];
        file.read_exact_at(&mut sealed, HEAD + number * (block + AROUND))?;
        let opened = self.cipher.open(&of_piece(number, left <= block), sealed);
        opened.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "an attachment's bytes are not those that were sealed",
            )
        })
    }
}

/// A writer that encrypts bytes into the pieces of a file, as the bytes come.
#[derive(Debug)]
pub(super) struct PieceWriter {
    out: BufWriter<File>,
    cipher: Cipher,
    /// Bytes that are not encrypted yet. A full piece waits here until more bytes come. It may be the last piece, and
    /// the last piece is encrypted with a flag that says so.
    piece: Vec<u8>,
    number: u64,
    sealed: Vec<u8>,
}

impl PieceWriter {
    /// Creates the file, or empties an existing one, and writes the format and the key's id.
    pub(super) fn create(path: &Path, key: &FileKey) -> io::Result<PieceWriter> {
        let cipher = Cipher::new(key)?;
        let file = private::create(path)?;
        let mut out = BufWriter::with_capacity(BLOCK, file);
        out.write_all(MAGIC)?;
        out.write_all(key.id().bytes())?;
        Ok(PieceWriter {
            out,
            cipher,
            piece: Vec::new(),
            number: 0,
            sealed: Vec::new(),
        })
    }

    /// Adds bytes.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.piece.len() == BLOCK {
                self.put(false)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.piece.len()));
            self.piece.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    /// Encrypts the last piece and flushes the file, which has no trailer yet.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.put(true)?;
        }
        self.out.flush()
    }

    fn put(&mut self, is_last: bool) -> io::Result<()> {
        self.sealed.clear();
        self.cipher
            .seal(&of_piece(self.number, is_last), &self.piece, &mut self.sealed)?;
        self.out.write_all(&self.sealed)?;
        self.number += 1;
        self.piece.clear();
        Ok(())
    }
}

/// Writes the trailer after the pieces of a file. Returns the file's length.
pub(super) fn append_sealed_trailer(path: &Path, trailer: &Trailer, key: &FileKey) -> io::Result<u64> {
    let pieces = sealed_length(trailer.bytes).ok_or_else(damaged)?;
    let mut file = private::options().append(true).open(path)?;
    // Cut off the bytes that an earlier attempt may have left after the pieces.
    file.set_len(HEAD + pieces)?;
    // This cannot fail, because all fields are strings and numbers.
    let text = serde_json::to_vec(trailer).unwrap_or_default();
    let mut end = Vec::new();
    Cipher::new(key)?.seal(&of_trailer(pieces), &text, &mut end)?;
    let length = end.len() as u32;
    end.extend_from_slice(&length.to_le_bytes());
    end.extend_from_slice(MAGIC);
    file.write_all(&end)?;
    Ok(HEAD + pieces + u64::from(length) + TAIL)
}

/// Encrypts the bytes of a clear file into another file and adds the trailer. Returns an error if the file is shorter
/// than `trailer` says, or if its SHA-256 differs. Returns the new file's length.
pub(super) fn seal_file(from: &Path, to: &Path, trailer: &Trailer, key: &FileKey) -> io::Result<u64> {
    let mut from = BufReader::with_capacity(BLOCK, private::open(from)?).take(trailer.bytes);
    let mut writer = PieceWriter::create(to, key)?;
    let (mut sha256, mut piece, mut read) = (Context::new(&SHA256), Vec::with_capacity(BLOCK), 0);
    while (&mut from).take(BLOCK as u64).read_to_end(&mut piece)? > 0 {
        read += piece.len() as u64;
        sha256.update(&piece);
        writer.write(&piece)?;
        piece.clear();
    }
    writer.finish()?;
    if read != trailer.bytes {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
    }
    if hexadecimal(sha256.finish().as_ref()) != trailer.sha256 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the file has other bytes than were written",
        ));
    }
    append_sealed_trailer(to, trailer, key)
}

/// Returns the total length of the encrypted pieces of `bytes` clear bytes. `None` if it overflows.
fn sealed_length(bytes: u64) -> Option<u64> {
    bytes.div_ceil(BLOCK as u64).checked_mul(AROUND)?.checked_add(bytes)
}

/// Returns the authenticated data of a piece, without the key's id.
fn of_piece(number: u64, is_last: bool) -> [u8; 10] {
    place(b'p', number, u8::from(is_last))
}

/// Returns the authenticated data of a trailer, without the key's id. `pieces` is the length of all encrypted pieces.
fn of_trailer(pieces: u64) -> [u8; 10] {
    place(b't', pieces, 0)
}

fn place(what: u8, number: u64, flag: u8) -> [u8; 10] {
    let mut place = [0; 10];
    place[0] = what;
    place[1..9].copy_from_slice(&number.to_le_bytes());
    place[9] = flag;
    place
}

fn damaged() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "it does not begin and end as a sealed attachment does",
    )
}

/// The cipher with a file's key.
#[derive(Debug)]
struct Cipher {
    pieces: PieceCipher,
    id: KeyId,
}

impl Cipher {
    fn new(key: &FileKey) -> io::Result<Cipher> {
        let pieces = PieceCipher::new(key.secret())?;
        Ok(Cipher { pieces, id: key.id() })
    }

    /// Returns the complete authenticated data of a piece or a trailer: the key's id, and `place`, which comes from
    /// `of_piece` or `of_trailer`.
    fn named(&self, place: &[u8; 10]) -> [u8; ID + 10] {
        let mut all = [0; ID + 10];
        all[..ID].copy_from_slice(self.id.bytes());
        all[ID..].copy_from_slice(place);
        all
    }

    fn seal(&self, place: &[u8; 10], clear: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.pieces.seal(&self.named(place), clear, out)
    }

    fn open(&self, place: &[u8; 10], mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let clear = self.pieces.open(&self.named(place), &mut sealed)?;
        Some(clear.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::super::content::AttachmentContent;
    use super::super::write::AttachmentWriter;
    use super::*;
    use crate::lake::seal::{Kek, KeyStore};

    struct Scene {
        folder: tempfile::TempDir,
        keys: Keys,
    }

    impl Scene {
        fn new() -> Scene {
            let folder = tempfile::tempdir().unwrap();
            let store = KeyStore::create(folder.path(), Kek::random().unwrap()).unwrap();
            let keys = Keys::of(store);
            Scene { folder, keys }
        }

        fn path(&self, name: &str) -> std::path::PathBuf {
            self.folder.path().join(name)
        }

        /// Seals these bytes under a new key into a file of this name.
        fn stored(&self, name: &str, bytes: &[u8]) -> FileKey {
            let from = self.path("spool");
            let mut writer = AttachmentWriter::create(&from, &Keys::none()).unwrap();
            writer.write(bytes).unwrap();
            let sums = writer.finish().unwrap();
            let trailer = Trailer {
                mode: "live".to_owned(),
                application: "app".to_owned(),
                owner: 7,
                authorization: "authorization-of-ann".to_owned(),
                binary: "b".to_owned(),
                bytes: sums.bytes,
                sha256: super::hexadecimal(&sums.sha256),
                sha1: String::new(),
                origin: "o".to_owned(),
                time: 3,
            };
            let key = self.keys.make().unwrap().unwrap();
            self.keys.keep(std::slice::from_ref(&key)).unwrap();
            let length = seal_file(&from, &self.path(name), &trailer, &key).unwrap();
            assert_eq!(std::fs::metadata(self.path(name)).unwrap().len(), length);
            key
        }

        fn open(&self, name: &str) -> io::Result<AttachmentContent> {
            AttachmentContent::open(&self.path(name), &self.keys)
        }
    }

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 31 % 251) as u8).collect()
    }

    #[test]
    fn bytes_come_back_in_any_part() {
        let scene = Scene::new();
        for length in [0usize, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17] {
            let bytes = bytes(length);
            scene.stored("x", &bytes);
            let content = scene.open("x").unwrap();
            assert_eq!(content.bytes(), length as u64);
            assert!(content.is_whole().unwrap());
            for (start, end) in [(0, length), (length / 2, length), (length / 3, length / 2 + 1), (0, 1)] {
                let (start, end) = (start as u64, (end as u64).min(length as u64));
                content.verify(&(start..end)).unwrap();
                let (mut found, mut at) = (Vec::new(), start);
                while at < end {
                    let piece = content.piece(at..end).unwrap();
                    at += piece.len() as u64;
                    found.extend(piece);
                }
                assert_eq!(
                    found,
                    bytes[start as usize..end.max(start) as usize],
                    "{length} {start}..{end}"
                );
            }
        }
    }

    #[test]
    fn nothing_stands_in_the_file_in_clear() {
        let scene = Scene::new();
        let key = scene.stored("x", "A letter about Ann of Athlone. ".repeat(5_000).as_bytes());
        let file = std::fs::read(scene.path("x")).unwrap();
        for text in [&b"Athlone"[..], b"authorization", b"live", b"sha256", key.secret()] {
            assert_eq!(
                memchr::memmem::find(&file, text),
                None,
                "{}",
                String::from_utf8_lossy(text)
            );
        }
        assert_eq!(&file[8..24], key.id().bytes());
    }

    #[test]
    fn a_changed_byte_is_noticed_wherever_it_is() {
        let scene = Scene::new();
        scene.stored("x", &bytes(BLOCK + 100));
        let whole = std::fs::read(scene.path("x")).unwrap();
        let second = 24 + BLOCK + 28;
        let places = [
            0,
            7,
            8,
            23,
            24,
            35,
            36,
            second - 1,
            second,
            second + 12,
            second + 127,
            second + 128,
        ];
        for at in places
            .into_iter()
            .chain([whole.len() - 13, whole.len() - 12, whole.len() - 9, whole.len() - 1])
        {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(scene.path("x"), &changed).unwrap();
            let sound = scene
                .open("x")
                .and_then(|content| content.verify(&(0..content.bytes())));
            assert!(sound.is_err(), "{at}");
        }
        // Damage in one piece does not affect the others.
        let mut changed = whole.clone();
        changed[second + 20] ^= 1;
        std::fs::write(scene.path("x"), &changed).unwrap();
        let content = scene.open("x").unwrap();
        assert_eq!(content.piece(10..20).unwrap(), &bytes(BLOCK + 100)[10..20]);
        assert!(content.piece(BLOCK as u64..BLOCK as u64 + 1).is_err());
    }

    #[test]
    fn what_was_cut_off_or_put_elsewhere_is_refused() {
        let scene = Scene::new();
        let piece = BLOCK + 28;
        scene.stored("x", &bytes(3 * BLOCK));
        let whole = std::fs::read(scene.path("x")).unwrap();
        for end in [
            0,
            11,
            24,
            40,
            24 + piece,
            24 + 2 * piece,
            24 + 3 * piece,
            whole.len() - 12,
            whole.len() - 1,
        ] {
            std::fs::write(scene.path("x"), &whole[..end]).unwrap();
            assert!(scene.open("x").is_err(), "{end}");
        }
        // Cut off the last piece, and keep the trailer.
        let shorter = [&whole[..24 + 2 * piece], &whole[24 + 3 * piece..]].concat();
        std::fs::write(scene.path("x"), shorter).unwrap();
        assert!(scene.open("x").is_err());
        // Swap two pieces, or put another piece in the place of the last one. `good` has the pieces that can still be
        // read.
        let (head, rest) = whole.split_at(24);
        let (one, rest) = rest.split_at(piece);
        let (two, rest) = rest.split_at(piece);
        let (three, end) = rest.split_at(piece);
        for (pieces, good) in [
            ([two, one, three], 2..3),
            ([one, three, two], 0..1),
            ([one, two, two], 0..2),
        ] {
            std::fs::write(scene.path("x"), [head, &pieces.concat(), end].concat()).unwrap();
            let content = scene.open("x").unwrap();
            for number in 0..3 {
                let start = (number * BLOCK) as u64;
                let read = content.piece(start..start + 1);
                assert_eq!(read.is_ok(), good.contains(&number), "{number}");
            }
        }
        // First replace a piece by a piece of another file of the same length. Then replace the trailer by that of the
        // other file.
        scene.stored("y", &bytes(3 * BLOCK));
        let other = std::fs::read(scene.path("y")).unwrap();
        std::fs::write(
            scene.path("x"),
            [head, one, &other[24 + piece..24 + 2 * piece], three, end].concat(),
        )
        .unwrap();
        assert!(scene.open("x").unwrap().piece(BLOCK as u64..BLOCK as u64 + 1).is_err());
        std::fs::write(
            scene.path("x"),
            [&whole[..24 + 3 * piece], &other[24 + 3 * piece..]].concat(),
        )
        .unwrap();
        assert!(scene.open("x").is_err());
    }

    #[test]
    fn a_file_goes_with_its_key() {
        let scene = Scene::new();
        // Keep only the id, and drop the key. A key that is still in memory would open the file even after `destroy`.
        let id = scene.stored("x", b"about Ann").id();
        scene.open("x").unwrap();
        scene.keys.destroy(&[id]).unwrap();
        let gone = scene.open("x").unwrap_err().to_string();
        assert!(gone.contains(&format!("has no key {id}")), "{gone}");
    }

    #[test]
    fn a_lake_has_attachments_of_one_kind() {
        let scene = Scene::new();
        scene.stored("x", b"about Ann");
        let refused = AttachmentContent::open(&scene.path("x"), &Keys::none())
            .unwrap_err()
            .to_string();
        assert!(refused.ends_with("the lake was opened without keys"), "{refused}");
    }
}
