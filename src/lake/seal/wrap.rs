//! Wraps keys with AES-256-GCM under the key-encryption key. The additional authenticated data of a wrapped text is its
//! purpose. So a text cannot be used for another purpose. For a file's key, the purpose is the id of the key.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use zeroize::Zeroizing;

use super::error::SealError;
use super::kek::Kek;
use super::key::FileKey;
use super::key_id::KeyId;
use super::secret::Secret;

/// The first byte of every wrapped text. It is the version of the format.
const VERSION: u8 = 1;
/// The purposes of two kinds of texts: the proof of a key-encryption key, and a wrapped earlier key-encryption key.
const PROOF: &[u8] = b"proof";
const EARLIER: &[u8] = b"earlier";

/// A key-encryption key, ready to wrap and unwrap.
pub(super) struct Wrapping(RandomizedNonceKey);

impl Wrapping {
    pub(super) fn new(kek: &Kek) -> Result<Wrapping, SealError> {
        // This does not fail, because a key has 32 bytes.
        let key = RandomizedNonceKey::new(&AES_256_GCM, kek.bytes()).map_err(|_| SealError::Random)?;
        Ok(Wrapping(key))
    }

    /// Wraps the key of a file.
    pub(super) fn wrap(&self, key: &FileKey) -> Result<Vec<u8>, SealError> {
        self.seal(key.id().bytes(), key.secret())
    }

    /// Unwraps the key with this id. `None` if the bytes were wrapped by another key-encryption key or for another id,
    /// or were changed.
    pub(super) fn unwrap(&self, id: KeyId, wrapped: &[u8]) -> Option<FileKey> {
        Some(FileKey::new(id, Secret::of(&self.open(id.bytes(), wrapped)?)?))
    }

    /// Makes a text by which a process can check later whether it has this key-encryption key.
    pub(super) fn proof(&self) -> Result<Vec<u8>, SealError> {
        self.seal(PROOF, &[])
    }

    /// Whether this key-encryption key made this proof.
    pub(super) fn proves(&self, proof: &[u8]) -> bool {
        self.open(PROOF, proof).is_some()
    }

    /// Wraps the key-encryption key that this one replaces.
    pub(super) fn wrap_earlier(&self, kek: &Kek) -> Result<Vec<u8>, SealError> {
        self.seal(EARLIER, kek.bytes())
    }

    pub(super) fn unwrap_earlier(&self, wrapped: &[u8]) -> Option<Kek> {
        Some(Kek::new(Secret::of(&self.open(EARLIER, wrapped)?)?))
    }

    fn seal(&self, what: &[u8], plain: &[u8]) -> Result<Vec<u8>, SealError> {
        // Reserve space for the tag. A reallocation would leave the secret in the old memory.
        let mut text = Zeroizing::new(Vec::with_capacity(plain.len() + AES_256_GCM.tag_len()));
        text.extend_from_slice(plain);
        let sealed = self.0.seal_in_place_append_tag(Aad::from(what), &mut *text);
        let nonce = sealed.map_err(|_| SealError::Random)?;
        Ok([&[VERSION], nonce.as_ref().as_slice(), &text[..]].concat())
    }

    fn open(&self, what: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (version, rest) = sealed.split_first()?;
        let (nonce, text) = rest.split_at_checked(NONCE_LEN).filter(|_| *version == VERSION)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = Zeroizing::new(text.to_vec());
        let length = self.0.open_in_place(nonce, Aad::from(what), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

impl std::fmt::Debug for Wrapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wrapping")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrapped_opens_for_its_id_and_its_key_only() {
        let (one, other) = (Kek::random().unwrap(), Kek::random().unwrap());
        let (one, other) = (Wrapping::new(&one).unwrap(), Wrapping::new(&other).unwrap());
        let (key, second) = (FileKey::random().unwrap(), FileKey::random().unwrap());
        let wrapped = one.wrap(&key).unwrap();
        assert!(one.unwrap(key.id(), &wrapped).unwrap() == key);
        assert!(one.unwrap(second.id(), &wrapped).is_none() && other.unwrap(key.id(), &wrapped).is_none());
        assert_ne!(one.wrap(&key).unwrap(), wrapped, "another nonce each time");
        for at in 0..wrapped.len() {
            let mut changed = wrapped.clone();
            changed[at] ^= 1;
            assert!(one.unwrap(key.id(), &changed).is_none(), "byte {at}");
            assert!(one.unwrap(key.id(), &wrapped[..at]).is_none(), "byte {at}");
        }
        let proof = one.proof().unwrap();
        assert!(one.proves(&proof) && !other.proves(&proof) && !one.proves(&wrapped));
    }

    #[test]
    fn an_earlier_key_comes_back() {
        let (old, new) = (Kek::random().unwrap(), Kek::random().unwrap());
        let wrapping = Wrapping::new(&new).unwrap();
        let earlier = wrapping.unwrap_earlier(&wrapping.wrap_earlier(&old).unwrap()).unwrap();
        assert!(earlier.bytes() == old.bytes());
        assert!(wrapping.unwrap_earlier(&wrapping.proof().unwrap()).is_none());
    }
}
