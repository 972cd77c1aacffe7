//! The RSA keys that sign access tokens: generates them, computes their ids, and loads them.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};

use super::super::super::error::Error;

/// A key pair in the form that signing and verifying need. Its id `kid` is the RFC 7638 thumbprint of its public
/// half.
#[derive(Clone)]
pub(in crate::consent) struct SigningKey {
    pub(in crate::consent) kid: String,
    pub(in crate::consent) private: EncodingKey,
    pub(in crate::consent) public: DecodingKey,
    /// When another key replaced this one. `None` for the current key.
    pub(in crate::consent) retired_at: Option<i64>,
    /// The public half as a JSON Web Key.
    pub(in crate::consent) jwk: Jwk,
}

/// For how many seconds after a key's replacement its new signatures are accepted, because another process may not have
/// noticed the replacement yet.
const LATE: i64 = 60;

/// Generates an RSA key of 2,048 bits, in PKCS #8 form.
pub(in crate::consent) fn generate() -> Result<Vec<u8>, Error> {
    let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| Error::Key("it could not be generated"))?;
    let der: Pkcs8V1Der<'static> = pair.as_der().map_err(|_| Error::Key("it could not be encoded"))?;
    Ok(der.as_ref().to_vec())
}

impl SigningKey {
    /// Whether tokens that this key signed may still be valid. `seconds` is how long a token lives.
    pub(in crate::consent) fn is_kept(&self, now: i64, seconds: i64) -> bool {
        self.retired_at.is_none_or(|retired| now <= retired + seconds)
    }

    /// Whether this key was in use at the time `issued_at`. Tokens with a later time are refused, so nobody can make
    /// new tokens with a stolen former key.
    pub(in crate::consent) fn may_have_signed(&self, issued_at: i64) -> bool {
        self.retired_at.is_none_or(|retired| issued_at <= retired + LATE)
    }

    /// Reads a key in PKCS #8 form.
    pub(in crate::consent) fn from_pkcs8(pkcs8: &[u8]) -> Result<SigningKey, Error> {
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            wrapped(pkcs8)
        );
        let private = EncodingKey::from_rsa_pem(pem.as_bytes()).map_err(|_| Error::Key("it is no RSA key"))?;
        let mut jwk = Jwk::from_encoding_key(&private, Algorithm::RS256).map_err(|_| Error::Key("it is no RSA key"))?;
        let public = DecodingKey::from_jwk(&jwk).map_err(|_| Error::Key("its public half is unreadable"))?;
        let kid = jwk
            .thumbprint(ThumbprintHash::SHA256)
            .map_err(|_| Error::Key("it has no thumbprint"))?;
        jwk.common.key_id = Some(kid.clone());
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(SigningKey {
            kid,
            private,
            public,
            retired_at: None,
            jwk,
        })
    }
}

/// Encodes bytes in base64, in lines of 64 characters as PEM requires.
fn wrapped(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    let mut out = String::with_capacity(text.len() + text.len() / 64);
    for (at, letter) in text.chars().enumerate() {
        if at > 0 && at % 64 == 0 {
            out.push('\n');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::jwk::AlgorithmParameters;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_kid_is_the_rfc_7638_thumbprint() {
        let key = SigningKey::from_pkcs8(&generate().unwrap()).unwrap();
        let AlgorithmParameters::RSA(rsa) = &key.jwk.algorithm else {
            panic!("an RSA key")
        };
        let canonical = format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, rsa.e, rsa.n);
        let expected = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(canonical));
        assert_eq!(key.kid, expected);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(SigningKey::from_pkcs8(b"not a key").is_err());
    }
}
