//! Encrypts pieces of a file with AES-256-GCM. Attachments, their records in the catalog and temporary files are
//! encrypted in this way.

use std::fmt;
use std::io;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use zeroize::Zeroizing;

use super::KEY_BYTES;

const TAG: usize = 16;
/// The number of bytes that sealing adds to a piece. A sealed piece is `nonce, 12 bytes | encrypted bytes | tag, 16
/// bytes`.
pub(in crate::lake) const AROUND: usize = NONCE_LEN + TAG;

/// A key that can seal and open pieces. The place of a piece is its additional authenticated data. So a piece that was
/// sealed for one place cannot be opened for another place.
pub(in crate::lake) struct PieceCipher(RandomizedNonceKey);

impl fmt::Debug for PieceCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PieceCipher")
    }
}

impl PieceCipher {
    /// Makes the cipher of a file's key.
    pub(in crate::lake) fn new(secret: &[u8; KEY_BYTES]) -> io::Result<PieceCipher> {
        let key = RandomizedNonceKey::new(&AES_256_GCM, secret);
        key.map(PieceCipher)
            .map_err(|_| io::Error::other("a key of AES-256 cannot be used"))
    }

    /// Makes a cipher with a new random key that exists only in this value.
    pub(in crate::lake) fn random() -> io::Result<PieceCipher> {
        let mut secret = Zeroizing::new([0; KEY_BYTES]);
        aws_lc_rs::rand::fill(&mut secret[..]).map_err(|_| no_random())?;
        PieceCipher::new(&secret)
    }

    /// Appends the sealed form of `clear` to `out`. It can be opened only for this place.
    pub(in crate::lake) fn seal(&self, place: &[u8], clear: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        out.reserve(clear.len() + AROUND);
        out.resize(start + NONCE_LEN, 0);
        out.extend_from_slice(clear);
        let sealed = self
            .0
            .seal_in_place_separate_tag(Aad::from(place), &mut out[start + NONCE_LEN..]);
        let (nonce, tag) = sealed.map_err(|_| no_random())?;
        out[start..start + NONCE_LEN].copy_from_slice(nonce.as_ref());
        out.extend_from_slice(tag.as_ref());
        Ok(())
    }

    /// Decrypts a sealed piece in place and returns its bytes. `None` if the piece was changed, or was sealed for
    /// another place or by another key.
    pub(in crate::lake) fn open<'s>(&self, place: &[u8], sealed: &'s mut [u8]) -> Option<&'s [u8]> {
        let (nonce, rest) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let clear = self.0.open_in_place(nonce, Aad::from(place), rest).ok()?;
        Some(clear)
    }
}

fn no_random() -> io::Error {
    io::Error::other("the system gave no random numbers")
}
