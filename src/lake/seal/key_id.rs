//! The id of a file's key. Everything outside of the keys database uses it in place of the key.

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

pub(super) const ID_BYTES: usize = 16;

/// Names a file's key and reveals nothing about it. Its text is 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub(super) [u8; ID_BYTES]);

impl KeyId {
    /// The id's bytes, as Parquet's key metadata has them.
    pub fn bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }

    /// The id of these bytes. `None` if they are no id.
    pub fn from_bytes(bytes: &[u8]) -> Option<KeyId> {
        bytes.try_into().ok().map(KeyId)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// A text that is no key id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no id of a key: it has 32 hexadecimal digits")]
pub struct NoKeyId;

impl FromStr for KeyId {
    type Err = NoKeyId;

    fn from_str(text: &str) -> Result<KeyId, NoKeyId> {
        let bytes = from_digits(text).ok_or(NoKeyId)?;
        KeyId::from_bytes(&bytes).ok_or(NoKeyId)
    }
}

/// Reads bytes from hexadecimal digits. They may be a secret.
pub(super) fn from_digits(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |letter: &u8| char::from(*letter).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    // Allocate once, because a vector that grows leaves copies of the secret in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(pairs.len()));
    for [high, low] in pairs {
        bytes.push(digit(high)? << 4 | digit(low)?);
    }
    rest.is_empty().then_some(bytes)
}
