//! Signs bytes that leave the lake and come back, such as plans. Everybody can read these bytes, but only a holder of
//! the lake's key can change them unnoticed. Secret texts use `enclose`.
//!
//! A signature is an HMAC-SHA256. Its key is derived from the lake's owner key, one for each purpose.

use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign, verify};

use super::store::open::Lake;

/// The length of a signature in bytes.
pub const SIGNATURE: usize = 32;

impl Lake {
    /// Signs bytes for a purpose.
    pub fn sign(&self, bytes: &[u8], purpose: &'static str) -> [u8; SIGNATURE] {
        let mut signature = [0; SIGNATURE];
        signature.copy_from_slice(sign(&self.signing_key(purpose), bytes).as_ref());
        signature
    }

    /// Whether this lake has signed exactly these bytes for the purpose.
    pub fn has_signed(&self, bytes: &[u8], purpose: &'static str, signature: &[u8]) -> bool {
        verify(&self.signing_key(purpose), bytes, signature).is_ok()
    }

    fn signing_key(&self, purpose: &'static str) -> Key {
        let key = Salt::new(HKDF_SHA256, b"tabularium signatures").extract(&self.owner_key().bytes());
        let info = [purpose.as_bytes()];
        let derived = key.expand(&info, HMAC_SHA256);
        Key::from(derived.expect("a key is shorter than HKDF can make"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lake_that_signed_knows_its_signature_and_for_that_purpose_only() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [lake, other] = folders
            .each_ref()
            .map(|folder| Lake::open_or_create(folder.path()).unwrap());
        let signature = lake.sign(b"a plan", "plans");
        assert!(lake.has_signed(b"a plan", "plans", &signature));
        assert!(
            Lake::open(folders[0].path())
                .unwrap()
                .has_signed(b"a plan", "plans", &signature)
        );
        assert!(!lake.has_signed(b"a plan", "else", &signature));
        assert!(!lake.has_signed(b"a plaN", "plans", &signature));
        assert!(!lake.has_signed(b"a plan", "plans", &signature[..31]));
        assert!(!other.has_signed(b"a plan", "plans", &signature));
    }
}
