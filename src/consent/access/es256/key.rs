//! One P-256 key: generates it, computes its RFC 7638 thumbprint, and signs and verifies JWS in compact form. This
//! file does not access the store.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::consent::error::Error;

/// The first byte of an uncompressed curve point. The two coordinates follow it.
const UNCOMPRESSED: u8 = 4;
/// The length of a coordinate in bytes.
const COORDINATE: usize = 32;

/// The public half of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    /// The key's id: its RFC 7638 thumbprint.
    pub kid: String,
    /// The first coordinate, in base64url.
    pub x: String,
    /// The second coordinate, in base64url.
    pub y: String,
}

/// A key pair for signing.
pub(in crate::consent) struct Signer {
    pub(in crate::consent) public: PublicKey,
    pair: EcdsaKeyPair,
}

/// Generates a key in PKCS #8 form.
pub(super) fn generate() -> Result<Vec<u8>, Error> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
        .map_err(|_| Error::Key("it could not be generated"))?;
    let der = pair.to_pkcs8v1().map_err(|_| Error::Key("it could not be encoded"))?;
    Ok(der.as_ref().to_vec())
}

impl Signer {
    /// Reads a key in PKCS #8 form.
    pub(super) fn from_pkcs8(pkcs8: &[u8]) -> Result<Signer, Error> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8)
            .map_err(|_| Error::Key("it is no P-256 key"))?;
        let point = pair.public_key().as_ref();
        let public = match point.split_first() {
            Some((&UNCOMPRESSED, both)) if both.len() == 2 * COORDINATE => {
                let (x, y) = both.split_at(COORDINATE);
                PublicKey::at(URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y))
            }
            _ => return Err(Error::Key("its public half is no point of P-256")),
        };
        Ok(Signer { public, pair })
    }

    /// Signs a payload and returns a JWS in compact form. Adds `alg` and `kid` to the header.
    pub(in crate::consent) fn sign(&self, header: Map<String, Value>, payload: &[u8]) -> Result<String, Error> {
        let mut all = Map::from_iter([("alg".to_owned(), json!("ES256"))]);
        all.extend(header);
        all.insert("kid".to_owned(), json!(self.public.kid));
        let header = Value::Object(all).to_string();
        let mut jws = URL_SAFE_NO_PAD.encode(header);
        jws.reserve(payload.len() * 4 / 3 + 100);
        jws.push('.');
        URL_SAFE_NO_PAD.encode_string(payload, &mut jws);
        let signature = self
            .pair
            .sign(&SystemRandom::new(), jws.as_bytes())
            .map_err(|_| Error::Sign)?;
        jws.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut jws);
        Ok(jws)
    }
}

impl PublicKey {
    /// Makes the public key with these coordinates and computes its id.
    fn at(x: String, y: String) -> PublicKey {
        // RFC 7638 hashes the required members only, in alphabetical order and without white space.
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        let kid = URL_SAFE_NO_PAD.encode(digest(&SHA256, canonical.as_bytes()));
        PublicKey { kid, x, y }
    }

    /// Returns the key as a JSON Web Key.
    pub fn jwk(&self) -> Value {
        json!({
            "kty": "EC", "kid": self.kid, "use": "sig", "alg": "ES256", "crv": "P-256", "x": self.x, "y": self.y,
        })
    }

    /// Reads a JSON Web Key. Ignores its `kid` and computes the thumbprint. `None` if it is not a P-256 key.
    pub fn from_jwk(jwk: &Value) -> Option<PublicKey> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let coordinate = |name: &str| {
            let bytes = URL_SAFE_NO_PAD.decode(text(name)?).ok()?;
            (bytes.len() == COORDINATE).then(|| URL_SAFE_NO_PAD.encode(bytes))
        };
        let is_ours = text("kty") == Some("EC") && text("crv") == Some("P-256");
        is_ours.then(|| Some(PublicKey::at(coordinate("x")?, coordinate("y")?)))?
    }

    /// Verifies a JWS and returns its header and payload. `None` if this key did not sign it with ES256, or if its
    /// header has another `kid` or a `crit` member.
    pub fn verify(&self, jws: &str) -> Option<(Map<String, Value>, Vec<u8>)> {
        let (signed, signature) = jws.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let parsed: Map<String, Value> = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
        let says = |name: &str, value: &str| parsed.get(name).and_then(Value::as_str) == Some(value);
        if !says("alg", "ES256") || !says("kid", &self.kid) || parsed.contains_key("crit") {
            return None;
        }
        let mut point = vec![UNCOMPRESSED];
        point.extend(URL_SAFE_NO_PAD.decode(&self.x).ok()?);
        point.extend(URL_SAFE_NO_PAD.decode(&self.y).ok()?);
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        key.verify(signed.as_bytes(), &signature).ok()?;
        Some((parsed, URL_SAFE_NO_PAD.decode(payload).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::jwk::{Jwk, ThumbprintHash};
    use jsonwebtoken::{Algorithm, DecodingKey, crypto};

    use super::*;

    fn signer() -> Signer {
        Signer::from_pkcs8(&generate().unwrap()).unwrap()
    }

    #[test]
    fn another_library_verifies_and_names_the_key_alike() {
        let key = signer();
        let jws = key.sign(Map::new(), b"{\"a\":1}").unwrap();
        let jwk: Jwk = serde_json::from_value(key.public.jwk()).unwrap();
        assert_eq!(jwk.thumbprint(ThumbprintHash::SHA256).unwrap(), key.public.kid);
        let (signed, signature) = jws.rsplit_once('.').unwrap();
        let decoding = DecodingKey::from_jwk(&jwk).unwrap();
        assert!(crypto::verify(signature, signed.as_bytes(), &decoding, Algorithm::ES256).unwrap());
        let header = jsonwebtoken::decode_header(&jws).unwrap();
        assert_eq!(
            (header.alg, header.kid),
            (Algorithm::ES256, Some(key.public.kid.clone()))
        );
    }

    #[test]
    fn a_key_verifies_its_own_unaltered_signatures_only() {
        let (key, other) = (signer(), signer());
        let header = Map::from_iter([("zip".to_owned(), json!("DEF")), ("kid".to_owned(), json!("forged"))]);
        let jws = key.sign(header, b"payload").unwrap();
        let (header, payload) = key.public.verify(&jws).unwrap();
        assert_eq!(
            (header["zip"].as_str(), payload.as_slice()),
            (Some("DEF"), &b"payload"[..])
        );
        assert_eq!(header["kid"], json!(key.public.kid));
        assert!(other.public.verify(&jws).is_none());
        let published = PublicKey::from_jwk(&key.public.jwk()).unwrap();
        assert_eq!(published, key.public);
        assert!(published.verify(&jws).is_some());
        for at in 0..jws.len() - 1 {
            let mut altered = jws.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            assert!(
                key.public.verify(std::str::from_utf8(&altered).unwrap()).is_none(),
                "byte {at}"
            );
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(Signer::from_pkcs8(b"not a key").is_err());
        let jwk = signer().public.jwk();
        for (name, value) in [("kty", "RSA"), ("crv", "P-384"), ("x", "AAAA"), ("y", "*")] {
            let mut other = jwk.clone();
            other[name] = json!(value);
            assert!(PublicKey::from_jwk(&other).is_none(), "{name}");
        }
    }
}
