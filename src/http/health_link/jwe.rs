//! Encrypts a link's file as a compact JWE (RFC 7516): with a direct key, AES-256-GCM, after raw DEFLATE.

use std::io::Write;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::json;

use crate::http::error::Error;

const TAG: usize = 16;

/// The random 256-bit key that encrypts a link's file. The link contains it.
pub(super) struct LinkKey([u8; 32]);

impl LinkKey {
    /// Creates a random key.
    pub(super) fn random() -> Result<LinkKey, Error> {
        let mut key = [0; 32];
        aws_lc_rs::rand::fill(&mut key).map_err(|_| Error::internal("the system gave no random numbers"))?;
        Ok(LinkKey(key))
    }

    /// Encodes the key as a link contains it: 43 characters of base64url.
    pub(super) fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}

/// Encrypts a file. The JWE's header names the file's media type as `cty`.
pub(super) fn encrypted(key: &LinkKey, media_type: &str, file: &[u8]) -> Result<String, Error> {
    let header = json!({"alg": "dir", "enc": "A256GCM", "zip": "DEF", "cty": media_type});
    let header = URL_SAFE_NO_PAD.encode(header.to_string());
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
    deflate.write_all(file).map_err(Error::internal)?;
    let mut text = deflate.finish().map_err(Error::internal)?;
    let broken = |_| Error::internal("a file could not be encrypted");
    let cipher = RandomizedNonceKey::new(&AES_256_GCM, &key.0).map_err(broken)?;
    let nonce = cipher
        .seal_in_place_append_tag(Aad::from(header.as_bytes()), &mut text)
        .map_err(broken)?;
    let nonce: &[u8; NONCE_LEN] = nonce.as_ref();
    let (text, tag) = text.split_at(text.len() - TAG);
    let [nonce, text, tag] = [nonce.as_slice(), text, tag].map(|part| URL_SAFE_NO_PAD.encode(part));
    // With a direct key (`dir`), the part for the encrypted key is empty.
    Ok(format!("{header}..{nonce}.{text}.{tag}"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use aws_lc_rs::aead::{LessSafeKey, Nonce, UnboundKey};
    use flate2::read::DeflateDecoder;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// Decrypts a file as a recipient does.
    fn decrypted(key: &str, jwe: &str) -> Option<(Value, Vec<u8>)> {
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let [header, encrypted_key, nonce, text, tag] = jwe.split('.').collect::<Vec<_>>().try_into().ok()?;
        assert_eq!(encrypted_key, "");
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes(key)?).ok()?);
        let nonce = Nonce::try_assume_unique_for_key(&bytes(nonce)?).ok()?;
        let mut text = [bytes(text)?, bytes(tag)?].concat();
        let plain = key.open_in_place(nonce, Aad::from(header.as_bytes()), &mut text).ok()?;
        let mut file = Vec::new();
        DeflateDecoder::new(&*plain).read_to_end(&mut file).ok()?;
        Some((serde_json::from_slice(&bytes(header)?).ok()?, file))
    }

    proptest! {
        #[test]
        fn a_file_is_decrypted_by_its_key_and_no_other(file in prop::collection::vec(any::<u8>(), 0..2_000)) {
            let (key, other) = (LinkKey::random().unwrap(), LinkKey::random().unwrap());
            let jwe = encrypted(&key, "application/fhir+json", &file).unwrap();
            let (header, found) = decrypted(&key.text(), &jwe).unwrap();
            prop_assert_eq!(found, file.clone());
            let expected = json!({"alg": "dir", "enc": "A256GCM", "zip": "DEF", "cty": "application/fhir+json"});
            prop_assert_eq!(header, expected);
            prop_assert!(decrypted(&other.text(), &jwe).is_none());
            prop_assert_ne!(encrypted(&key, "application/fhir+json", &file).unwrap(), jwe);
        }
    }

    #[test]
    fn a_changed_file_does_not_decrypt() {
        let key = LinkKey::random().unwrap();
        assert_eq!(key.text().len(), 43);
        let jwe = encrypted(&key, "application/fhir+json", br#"{"resourceType":"Bundle"}"#).unwrap();
        for at in 0..jwe.len() {
            let mut changed = jwe.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            // The file must not decrypt. AES-GCM detects a changed part. A change of a part's last character may also
            // set unused bits, so that the base64 is invalid. A changed `.` joins two parts.
            let found = (changed.matches('.').count() == 4)
                .then(|| decrypted(&key.text(), &changed))
                .flatten();
            assert!(found.is_none(), "letter {at}");
        }
    }
}
