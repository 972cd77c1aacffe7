//! Encrypts short texts that clients get and send back, such as page links. Without the lake's owner key nobody can
//! read, change or make such a text.
//!
//! The cipher is AES-256-GCM-SIV under a key derived from the lake's owner key. The nonce is constant. With this cipher
//! a constant nonce reveals only whether two texts for the same use are equal. So the same page always has the same
//! links.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

use super::owners::owner::OwnerKey;

/// The key that encrypts a lake's texts.
pub(super) struct EnclosingKey(LessSafeKey);

impl EnclosingKey {
    pub(super) fn of(key: OwnerKey) -> EnclosingKey {
        let salt = Salt::new(HKDF_SHA256, b"tabularium");
        let derived = salt.extract(&key.bytes());
        let derived = derived.expand(&[b"what is given out"], &AES_256_GCM_SIV);
        EnclosingKey(LessSafeKey::new(UnboundKey::from(
            derived.expect("a key is shorter than HKDF can make"),
        )))
    }
}

impl fmt::Debug for EnclosingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnclosingKey(..)")
    }
}

impl EnclosingKey {
    pub(super) fn enclose(&self, text: &[u8], used: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        let sealed = self.0.seal_in_place_append_tag(nonce(), Aad::from(used), &mut text);
        sealed.expect("the text is shorter than the cipher's bound");
        text
    }

    pub(super) fn disclose(&self, enclosed: &[u8], used: &[u8]) -> Option<Vec<u8>> {
        let mut text = enclosed.to_vec();
        let plain = self.0.open_in_place(nonce(), Aad::from(used), &mut text);
        Some(plain.ok()?.to_vec())
    }
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use crate::lake::Lake;

    #[test]
    fn what_is_enclosed_is_opened_by_its_lake_for_its_use() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [lake, other] = folders
            .each_ref()
            .map(|folder| Lake::open_or_create(folder.path()).unwrap());
        let enclosed = lake.enclose(b"page 7", b"links");
        assert_eq!(lake.disclose(&enclosed, b"links").as_deref(), Some(&b"page 7"[..]));
        assert_eq!(
            enclosed,
            Lake::open(folders[0].path()).unwrap().enclose(b"page 7", b"links")
        );
        assert_eq!(enclosed.len(), b"page 7".len() + 16);
        assert_eq!(lake.disclose(&enclosed, b"else"), None);
        assert_eq!(other.disclose(&enclosed, b"links"), None);
        for at in 0..enclosed.len() {
            let mut damaged = enclosed.clone();
            damaged[at] ^= 1;
            assert_eq!(lake.disclose(&damaged, b"links"), None);
            assert_eq!(lake.disclose(&enclosed[..at], b"links"), None);
        }
        // Two texts that differ in one byte have completely different ciphertexts.
        let next = lake.enclose(b"page 8", b"links");
        let same = enclosed.iter().zip(&next).filter(|(one, other)| one == other);
        assert!(same.count() < enclosed.len() / 2);
    }
}
