//! The secret key of one file, with its id.

use std::fmt;
use std::sync::{Arc, Weak};

use super::error::SealError;
use super::key_id::{ID_BYTES, KeyId};
use super::secret::Secret;

/// The length of a key in bytes, for AES-256.
pub const KEY_BYTES: usize = 32;

/// The key of one file, with its id. Clones share the secret, which is overwritten in memory when the last clone is
/// dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct FileKey(Arc<Held>);

#[derive(PartialEq, Eq)]
struct Held {
    id: KeyId,
    secret: Secret,
}

/// A weak reference to a key. It is valid while a [`FileKey`] holds the key.
pub(super) struct LentKey(Weak<Held>);

impl LentKey {
    /// Returns the key if a [`FileKey`] still holds it.
    pub(super) fn get(&self) -> Option<FileKey> {
        self.0.upgrade().map(FileKey)
    }

    /// Whether a [`FileKey`] still holds the key.
    pub(super) fn is_held(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl fmt::Debug for LentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LentKey")
    }
}

impl FileKey {
    /// Makes a new key and its id from the system's cryptographic random source.
    pub(super) fn random() -> Result<FileKey, SealError> {
        let mut id = [0; ID_BYTES];
        aws_lc_rs::rand::fill(&mut id).map_err(|_| SealError::Random)?;
        let secret = Secret::random().ok_or(SealError::Random)?;
        Ok(FileKey::new(KeyId(id), secret))
    }

    pub(super) fn new(id: KeyId, secret: Secret) -> FileKey {
        FileKey(Arc::new(Held { id, secret }))
    }

    /// Returns a weak reference to the key.
    pub(super) fn lent(&self) -> LentKey {
        LentKey(Arc::downgrade(&self.0))
    }

    /// Returns the id of the key.
    pub fn id(&self) -> KeyId {
        self.0.id
    }

    /// Returns the secret.
    pub fn secret(&self) -> &[u8; KEY_BYTES] {
        self.0.secret.bytes()
    }
}

impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileKey")
            .field("id", &self.0.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_id::NoKeyId;
    use super::*;

    #[test]
    fn an_id_comes_back_from_its_text() {
        let key = FileKey::random().unwrap();
        let text = key.id().to_string();
        assert_eq!((text.len(), text.parse()), (32, Ok(key.id())));
        assert_eq!(KeyId::from_bytes(key.id().bytes()), Some(key.id()));
        for bad in [
            "",
            "0",
            &text[1..],
            &format!("{text}00"),
            &text.replace(&text[..1], "g"),
        ] {
            assert_eq!(bad.parse::<KeyId>(), Err(NoKeyId), "{bad}");
        }
        assert_ne!(FileKey::random().unwrap().secret(), key.secret());
    }

    #[test]
    fn what_is_printed_of_a_key_is_its_id() {
        let key = FileKey::new(KeyId([1; 16]), Secret::of(&[0xab; 32]).unwrap());
        assert_eq!(
            format!("{key:?}"),
            "FileKey { id: KeyId(01010101010101010101010101010101), .. }"
        );
    }
}
