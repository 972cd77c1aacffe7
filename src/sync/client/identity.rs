//! A patient's identity from an OpenID provider: the ID token, verified with the provider's keys.

use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::Value;

use super::calls::Client;
use super::discovery::Configuration;
use super::error::Error;
use super::http::JSON;
use super::locator::Demographics;

/// The allowed clock difference, in seconds.
const LEEWAY: i64 = 60;
/// The accepted signature algorithms. With these, only the provider can sign. Algorithms with a shared secret are not
/// accepted, because the client can sign with the secret, too.
const SIGNED: [Algorithm; 8] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
];

/// An OpenID provider with the configuration that it publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The provider's issuer. Its ID tokens have the same `iss`.
    pub issuer: String,
    /// The configuration that the provider publishes.
    pub configuration: Configuration,
}

/// A verified identity.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The identifier that the provider gives to the person.
    pub subject: String,
    /// The person's demographics.
    pub demographics: Demographics,
    /// The address of the person's FHIR resource, as the provider writes it.
    pub fhir_user: Option<String>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// The claims of an ID token that are checked or used.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: i64,
    nonce: Option<String>,
    #[serde(rename = "fhirUser")]
    fhir_user: Option<String>,
    given_name: Option<String>,
    family_name: Option<String>,
    birthdate: Option<String>,
    gender: Option<String>,
    address: Option<Address>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
struct Address {
    postal_code: Option<String>,
}

impl Client {
    /// Gets the configuration of an OpenID provider.
    pub async fn provider(&self, issuer: &str) -> Result<Provider, Error> {
        let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let json = self.http.get_json(&address, JSON).await?;
        let configuration: Configuration =
            serde_json::from_value(json).map_err(|_| Error::Identity("the provider's configuration cannot be read"))?;
        if configuration.issuer.as_deref() != Some(issuer) {
            return Err(Error::Identity("the provider calls itself by another name"));
        }
        for address in [Some(&configuration.token_endpoint), configuration.jwks_uri.as_ref()] {
            let address = address.ok_or(Error::Identity("the provider names no keys"))?;
            self.http.guard().check(address)?;
        }
        Ok(Provider {
            issuer: issuer.to_owned(),
            configuration,
        })
    }

    /// Verifies an ID token that a provider issued to `client_id` for the request with this nonce. `now` is the
    /// service's time in seconds.
    pub async fn identity(
        &self,
        provider: &Provider,
        client_id: &str,
        nonce: &str,
        id_token: &str,
        now: i64,
    ) -> Result<Identity, Error> {
        let address = provider.configuration.jwks_uri.as_deref().unwrap_or_default();
        let keys: Value = self.http.get_json(address, JSON).await?;
        let keys = keys["keys"].as_array().cloned().unwrap_or_default();
        // Keys of unknown types are skipped.
        let keys = keys
            .into_iter()
            .filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        let keys = JwkSet { keys: keys.collect() };
        verify(&keys, &provider.issuer, client_id, nonce, id_token, now)
    }
}

fn verify(
    keys: &JwkSet,
    issuer: &str,
    client_id: &str,
    nonce: &str,
    id_token: &str,
    now: i64,
) -> Result<Identity, Error> {
    let header = jsonwebtoken::decode_header(id_token).map_err(|_| Error::Identity("it is no JWT"))?;
    if !SIGNED.contains(&header.alg) {
        return Err(Error::Identity("its algorithm is not taken"));
    }
    let candidates: Vec<&Jwk> = match &header.kid {
        Some(kid) => keys.find(kid).into_iter().collect(),
        None => keys.keys.iter().collect(),
    };
    let mut validation = Validation::new(header.alg);
    // Verify only the signature here. The claims are checked below, and `exp` is compared to the service's own clock.
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    let claims = candidates.into_iter().find_map(|jwk| {
        let key = DecodingKey::from_jwk(jwk).ok()?;
        jsonwebtoken::decode::<Claims>(id_token, &key, &validation).ok()
    });
    let claims = claims
        .ok_or(Error::Identity("its signature or its claims do not hold"))?
        .claims;
    let (ours, several) = match &claims.aud {
        Audience::One(aud) => (aud == client_id, false),
        Audience::Several(all) => (all.iter().any(|aud| aud == client_id), all.len() > 1),
    };
    let authorized = match &claims.azp {
        Some(azp) => azp == client_id,
        None => !several,
    };
    if claims.iss != issuer {
        return Err(Error::Identity("somebody else issued it"));
    }
    if !ours || !authorized {
        return Err(Error::Identity("it was issued for somebody else"));
    }
    if claims.exp + LEEWAY <= now {
        return Err(Error::Identity("it has expired"));
    }
    if claims.nonce.as_deref() != Some(nonce) {
        return Err(Error::Identity("it answers another request"));
    }
    Ok(Identity {
        subject: claims.sub,
        fhir_user: claims.fhir_user,
        demographics: Demographics {
            given: claims.given_name.unwrap_or_default(),
            family: claims.family_name.unwrap_or_default(),
            birth_date: claims.birthdate.unwrap_or_default(),
            gender: claims.gender,
            postal_code: claims.address.and_then(|address| address.postal_code),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsonwebtoken::{EncodingKey, Header};
    use serde_json::json;

    fn key(kid: &str) -> (EncodingKey, JwkSet) {
        let pair = aws_lc_rs::signature::EcdsaKeyPair::generate(&aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED_SIGNING);
        let der = pair.unwrap().to_pkcs8v1().unwrap();
        let private = EncodingKey::from_ec_der(der.as_ref());
        let mut jwk = Jwk::from_encoding_key(&private, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some(kid.to_owned());
        (private, JwkSet { keys: vec![jwk] })
    }

    #[test]
    fn an_id_token_is_believed_only_whole() {
        let (private, keys) = key("k");
        let (foreign, _) = key("k");
        let good = json!({"iss": "https://id.example", "sub": "s", "aud": "us", "exp": 1000, "nonce": "n",
                          "given_name": "Ada", "family_name": "L", "birthdate": "1970-01-01", "address": {"postal_code": "12345"}});
        let sign = |claims: &Value, key: &EncodingKey| {
            let mut header = Header::new(Algorithm::ES256);
            header.kid = Some("k".to_owned());
            jsonwebtoken::encode(&header, claims, key).unwrap()
        };
        let check = |token: &str| verify(&keys, "https://id.example", "us", "n", token, 900);
        let identity = check(&sign(&good, &private)).unwrap();
        assert_eq!(identity.subject, "s");
        assert_eq!(identity.demographics.given, "Ada");
        assert_eq!(identity.demographics.postal_code.as_deref(), Some("12345"));
        assert!(check(&sign(&good, &foreign)).is_err());
        for (name, value) in [
            ("iss", json!("https://other.example")),
            ("aud", json!("them")),
            ("aud", json!(["us", "them"])),
            ("azp", json!("them")),
            ("exp", json!(800)),
            ("nonce", json!("m")),
            ("nonce", json!(null)),
            ("sub", json!(null)),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            assert!(check(&sign(&bad, &private)).is_err(), "{bad}");
        }
        // An `aud` list that has only our client id is accepted like the id itself.
        let mut list = good.clone();
        list["aud"] = json!(["us"]);
        assert!(check(&sign(&list, &private)).is_ok());
        // A signature with a shared secret is refused, and so is a token without a signature.
        let hmac =
            jsonwebtoken::encode(&Header::new(Algorithm::HS256), &good, &EncodingKey::from_secret(b"k")).unwrap();
        assert!(check(&hmac).is_err());
        let parts: Vec<&str> = hmac.split('.').collect();
        let none = format!("eyJhbGciOiJub25lIn0.{}.", parts[1]);
        assert!(check(&none).is_err());
        for text in ["", "a.b", "a.b.c", "...."] {
            assert!(check(text).is_err());
        }
    }
}
