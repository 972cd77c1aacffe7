//! Passcodes are stored as PBKDF2-HMAC-SHA-256 hashes, each with its own salt. They are short, so a slow hash must
//! make each guess expensive.

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256};

use crate::consent::error::Error;

/// The maximum number of wrong passcodes. The last one ends the link.
pub const PASSCODE_ATTEMPTS: u32 = 10;

/// The number of rounds that OWASP recommends for this function: 600,000.
const ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(599_999);
const SALT: usize = 16;
const HASH: usize = 32;

/// Hashes a passcode for the store: the number of rounds (4 bytes, little-endian), the salt and the hash.
pub(super) fn kept(passcode: &str) -> Result<Vec<u8>, Error> {
    let mut kept = ROUNDS.get().to_le_bytes().to_vec();
    let mut salt = [0; SALT];
    aws_lc_rs::rand::fill(&mut salt).map_err(|_| Error::Key("the system gave no random numbers"))?;
    let mut hash = [0; HASH];
    pbkdf2::derive(PBKDF2_HMAC_SHA256, ROUNDS, &salt, passcode.as_bytes(), &mut hash);
    kept.extend_from_slice(&salt);
    kept.extend_from_slice(&hash);
    Ok(kept)
}

/// Whether `kept` is the hash of this passcode.
pub(super) fn matches(passcode: &str, kept: &[u8]) -> bool {
    let Some((rounds, rest)) = kept.split_first_chunk::<4>() else {
        return false;
    };
    let (Some(rounds), Some((salt, hash))) = (
        NonZeroU32::new(u32::from_le_bytes(*rounds)),
        rest.split_first_chunk::<SALT>(),
    ) else {
        return false;
    };
    hash.len() == HASH && pbkdf2::verify(PBKDF2_HMAC_SHA256, rounds, salt, passcode.as_bytes(), hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passcode_matches_what_was_kept_of_it_only() {
        let (one, again) = (kept("2468").unwrap(), kept("2468").unwrap());
        assert_ne!(one, again);
        assert!(matches("2468", &one) && matches("2468", &again));
        assert!(!matches("2469", &one) && !matches("", &one));
        for length in [0, 3, 4, 19, one.len() - 1] {
            assert!(!matches("2468", &one[..length]), "{length}");
        }
        assert!(!one.windows(4).any(|bytes| bytes == b"2468"));
    }
}
