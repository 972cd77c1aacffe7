//! The identity provider's RSA key. It is generated at its first use. It is not stored, so each process has another
//! key.

use std::sync::OnceLock;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::Value;

/// The key pair. It is generated at its first use. `None` in the cell means that it could not be generated.
#[derive(Default)]
pub(in crate::sandbox::payer) struct IdentityKey(OnceLock<Option<Pair>>);

struct Pair {
    private: EncodingKey,
    public: DecodingKey,
    jwk: Jwk,
}

impl IdentityKey {
    /// Returns the public key as a JSON Web Key.
    pub(in crate::sandbox::payer) fn jwk(&self) -> Option<&Jwk> {
        Some(&self.pair()?.jwk)
    }

    /// Signs claims as a JWT. `None` if there is no key.
    pub(in crate::sandbox::payer) fn sign(&self, claims: &Value) -> Option<String> {
        let pair = self.pair()?;
        let mut header = Header::new(Algorithm::RS256);
        header.kid.clone_from(&pair.jwk.common.key_id);
        jsonwebtoken::encode(&header, claims, &pair.private).ok()
    }

    /// Returns the claims of a token. `None` if another key signed it, if its issuer is not `issuer`, or if it has
    /// expired.
    pub(in crate::sandbox::payer) fn verify(&self, token: &str, issuer: &str) -> Option<Value> {
        let pair = self.pair()?;
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_issuer(&[issuer]);
        // The audience is not checked. Any client may present the token to the record locator or to a facility, because
        // these trust the identity provider.
        validation.validate_aud = false;
        validation.leeway = 0;
        let token = jsonwebtoken::decode::<Value>(token, &pair.public, &validation).ok()?;
        Some(token.claims)
    }

    fn pair(&self) -> Option<&Pair> {
        self.0.get_or_init(Pair::generate).as_ref()
    }
}

impl Pair {
    fn generate() -> Option<Pair> {
        let der: Pkcs8V1Der<'static> = KeyPair::generate(KeySize::Rsa2048).ok()?.as_der().ok()?;
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(der.as_ref())
        );
        let private = EncodingKey::from_rsa_pem(pem.as_bytes()).ok()?;
        let mut jwk = Jwk::from_encoding_key(&private, Algorithm::RS256).ok()?;
        let public = DecodingKey::from_jwk(&jwk).ok()?;
        jwk.common.key_id = jwk.thumbprint(ThumbprintHash::SHA256).ok();
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        Some(Pair { private, public, jwk })
    }
}
