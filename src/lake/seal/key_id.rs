//! The id of a file's key. The catalog and the files refer to a key by its id.

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

pub(super) const ID_BYTES: usize = 16;

/// The id of a file's key. It is random, so it reveals nothing about the key. Its text form is 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub(super) [u8; ID_BYTES]);

impl KeyId {
    /// Returns the 16 bytes of the id.
    pub fn bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }

    /// Makes an id from its bytes. `None` if there are not exactly 16 bytes.
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

/// The error for a text that is no key id.
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

/// Reads bytes from hexadecimal digits. They are overwritten in memory when they are dropped, because they may be a
/// secret. `None` if the text has other characters or an odd number of digits.
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
