//! Secrets that the service issues: 256 random bits after a prefix. The store keeps only their SHA-256 digests.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::error::Error;

/// The form in which the store keeps a secret: its SHA-256 digest.
pub(crate) type Digest = [u8; 32];

/// Makes a secret: `prefix` and 43 random characters.
pub(crate) fn random(prefix: &str) -> Result<String, Error> {
    let mut bytes = [0u8; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::Key("the system gave no random numbers"))?;
    Ok(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// Computes the digest by which a secret is looked up. Secrets have 256 random bits, so they need no salt.
pub(crate) fn digest(secret: &str) -> Digest {
    let mut digest = [0u8; 32];
    digest.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, secret.as_bytes()).as_ref());
    digest
}

/// Whether `kept` is the digest of `secret`. The comparison takes constant time.
pub(crate) fn matches(secret: &str, kept: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(&digest(secret), kept).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_matches_its_own_digest_only() {
        let (one, other) = (random("sk_test_").unwrap(), random("sk_test_").unwrap());
        assert!(one.starts_with("sk_test_") && one.len() == "sk_test_".len() + 43);
        assert!(matches(&one, &digest(&one)));
        assert!(!matches(&one, &digest(&other)));
        assert!(!matches(&one, &digest(&one)[..31]));
    }
}
