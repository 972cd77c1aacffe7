//! Access tokens: RS256 JWTs of the JOSE type `at+jwt`. This file issues and verifies them.
//!
//! A verified token is cached by the SHA-256 of its text until it expires, because checking a signature costs more
//! than answering a read. Each use checks whether the token was revoked. The token itself is not stored.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, Header, Validation};
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::directory::application::Client;
use super::super::error::{Error, Refusal};
use super::super::record::Consent;
use super::super::states::ConsentState;
use super::super::store::Store;
use super::lifetime::PATIENT_SECONDS;
use super::secret::{self, Digest};
use super::verified::Access;
use crate::lake::{Lake, Mode, PatientScope, Scope};

/// The lifetime of an application token, in seconds.
pub(in crate::consent) const APPLICATION_SECONDS: i64 = 1_800;
/// The maximum number of cached tokens.
const REMEMBERED: usize = 16_384;
/// The maximum length of a token in bytes. The service's own tokens have under 1,200. Longer ones are refused before
/// they are parsed.
const LONGEST: usize = 8_192;
const TYPE: &str = "at+jwt";

/// Returns the `iss` and `aud` of tokens for a service at this base address: the address with a trailing slash.
pub fn issuer(base_url: &str) -> String {
    format!("{}/", base_url.trim_end_matches('/'))
}

/// A token that was just issued.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The signed JWT, which clients send as `Authorization: Bearer ...`.
    pub token: String,
    /// The token's id.
    pub jti: String,
    /// When it was issued, in seconds since the Unix epoch.
    pub issued_at: i64,
    /// When it expires.
    pub expires_at: i64,
}

/// The claims of a token. Patient tokens have `patient`, application tokens do not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    /// The token's id.
    pub jti: String,
    /// The id of the consent. For an application token: the publishable key.
    pub sub: String,
    /// `Patient/` and the id of the consent's primary Patient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient: Option<String>,
    /// The publishable key of the client.
    pub client_id: String,
    /// When the token was issued, in seconds since the Unix epoch.
    pub iat: i64,
    /// When the token expires.
    pub exp: i64,
    /// The service's base address with a trailing slash.
    pub iss: String,
    /// The same address as `iss`.
    pub aud: String,
}

/// A token that this service signed. It may have expired or been revoked.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The token's claims.
    pub claims: Claims,
    /// Whether the token is valid: neither expired nor revoked.
    pub active: bool,
}

/// Issues and verifies the tokens of the service at one base address.
#[derive(Debug)]
pub struct Tokens {
    store: Arc<Store>,
    lake: Lake,
    issuer: String,
    verified: Cache<Digest, Arc<Access>>,
}

impl Tokens {
    /// Creates the issuer for the service at `base_url`. `lake` computes which owners a Patient's rows have.
    pub fn new(store: Arc<Store>, lake: Lake, base_url: &str) -> Tokens {
        Tokens {
            store,
            lake,
            issuer: issuer(base_url),
            verified: Cache::new(REMEMBERED),
        }
    }

    /// Issues a token for an application in one mode.
    pub fn for_application(&self, application: &str, mode: Mode) -> Result<Issued, Error> {
        let client = self.store.clients().of(application, mode)?;
        self.issue(client.id.to_string(), None, &client, APPLICATION_SECONDS)
    }

    /// Issues a token for one person's imported records. Does not check that the lake has this Patient.
    pub fn for_patient(&self, application: &str, mode: Mode, patient: &str) -> Result<Issued, Error> {
        let client = self.store.clients().of(application, mode)?;
        let consent = self.store.consents().of_imported(application, mode, patient)?;
        self.issue(consent, Some(format!("Patient/{patient}")), &client, PATIENT_SECONDS)
    }

    /// Verifies a token. Returns the access that it grants, or why it is refused.
    pub fn verify(&self, token: &str) -> Result<Arc<Access>, Refusal> {
        if token.len() > LONGEST {
            return Err(Refusal::Malformed);
        }
        let key = secret::digest(token);
        let access = match self.verified.get(&key) {
            Some(access) => access,
            None => {
                let access = Arc::new(self.check(token)?);
                self.verified.insert(key, access.clone());
                access
            }
        };
        if access.expires_at <= self.store.clock().now() {
            self.verified.remove(&key);
            return Err(Refusal::Expired);
        }
        if self.store.access_tokens().is_revoked(&access.jti) || self.store.access_tokens().is_revoked(&access.subject)
        {
            return Err(Refusal::Revoked);
        }
        Ok(access)
    }

    /// Revokes a token before it expires.
    pub fn revoke(&self, access: &Access) -> Result<(), Error> {
        self.store.access_tokens().revoke(&access.jti, access.expires_at)
    }

    /// Issues a token for the client itself.
    pub(in crate::consent) fn for_client(&self, client: &Client) -> Result<Issued, Error> {
        self.issue(client.id.to_string(), None, client, APPLICATION_SECONDS)
    }

    /// Makes the claims of a patient token. The caller must record the token in the store before it signs them.
    pub(in crate::consent) fn draft(&self, consent: &Consent, client: &Client) -> Result<Claims, Error> {
        let primary = consent.patients.first().ok_or(Error::Lost("consent's Patient"))?;
        let patient = Some(format!("Patient/{primary}"));
        Ok(self.claims(consent.id.clone(), patient, client, PATIENT_SECONDS))
    }

    /// Signs the claims with the current key.
    pub(in crate::consent) fn sign(&self, claims: &Claims) -> Result<Issued, Error> {
        let key = self.store.signing_keys().current()?;
        let mut header = Header::new(Algorithm::RS256);
        header.typ = Some(TYPE.to_owned());
        header.kid = Some(key.kid.clone());
        let token = jsonwebtoken::encode(&header, claims, &key.private).map_err(|_| Error::Sign)?;
        Ok(Issued {
            token,
            jti: claims.jti.clone(),
            issued_at: claims.iat,
            expires_at: claims.exp,
        })
    }

    /// Returns the claims of a token that this service signed, and whether it is still valid. Refuses all other
    /// tokens.
    pub fn inspect(&self, token: &str) -> Result<Inspected, Refusal> {
        let active = match self.verify(token) {
            Ok(_) => true,
            Err(Refusal::Expired | Refusal::Revoked) => false,
            Err(refusal) => return Err(refusal),
        };
        Ok(Inspected {
            claims: self.signed(token)?,
            active,
        })
    }

    pub(in crate::consent) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    fn issue(&self, sub: String, patient: Option<String>, client: &Client, seconds: i64) -> Result<Issued, Error> {
        self.sign(&self.claims(sub, patient, client, seconds))
    }

    fn claims(&self, sub: String, patient: Option<String>, client: &Client, seconds: i64) -> Claims {
        let iat = self.store.clock().now();
        Claims {
            jti: Uuid::new_v4().to_string(),
            sub,
            patient,
            client_id: client.id.to_string(),
            iat,
            exp: iat + seconds,
            iss: self.issuer.clone(),
            aud: self.issuer.clone(),
        }
    }

    /// Checks a token that is not cached: its signature, its expiry, its client and its consent.
    fn check(&self, token: &str) -> Result<Access, Refusal> {
        let claims = self.signed(token)?;
        if claims.exp <= self.store.clock().now() {
            return Err(Refusal::Expired);
        }
        self.resolve(claims)
    }

    /// Verifies the form, the signature and the issuer of a token, and returns its claims.
    fn signed(&self, token: &str) -> Result<Claims, Refusal> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Refusal::Malformed)?;
        let typed = header.typ.as_deref().is_some_and(|typ| {
            // RFC 7515 allows the prefix `application/`, and media types ignore case.
            let short = typ
                .get(..12)
                .filter(|prefix| prefix.eq_ignore_ascii_case("application/"))
                .map_or(typ, |_| &typ[12..]);
            short.eq_ignore_ascii_case(TYPE)
        });
        if header.alg != Algorithm::RS256 || !typed {
            return Err(Refusal::Foreign);
        }
        let kid = header.kid.ok_or(Refusal::Signature)?;
        let key = self
            .store
            .signing_keys()
            .get(&kid)
            .map_err(|_| Refusal::Unavailable)?
            .ok_or(Refusal::Signature)?;
        let signed = jsonwebtoken::decode::<Claims>(token, &key.public, &validation(&self.issuer)).map_err(refusal)?;
        let claims = signed.claims;
        // No token of this service is valid for longer than `PATIENT_SECONDS`. So all tokens that are forged with a
        // stolen former key have expired when the last genuine token of this key has expired.
        let longest = claims.iat.saturating_add(PATIENT_SECONDS);
        if key.may_have_signed(claims.iat) && claims.exp <= longest {
            Ok(claims)
        } else {
            Err(Refusal::Signature)
        }
    }

    /// Looks up the client of verified claims, and for a patient token the consent. Returns the access that they
    /// grant.
    fn resolve(&self, claims: Claims) -> Result<Access, Refusal> {
        let client = self
            .store
            .clients()
            .get(&claims.client_id)
            .map_err(|_| Refusal::Unavailable)?
            .ok_or(Refusal::Revoked)?;
        let patient = match &claims.patient {
            None if claims.sub == claims.client_id => None,
            None => return Err(Refusal::Malformed),
            Some(primary) => Some(Arc::new(self.person(&claims, primary, &client)?)),
        };
        Ok(Access {
            jti: claims.jti.into(),
            subject: claims.sub.into(),
            client: client.id,
            expires_at: claims.exp,
            scope: Arc::new(Scope {
                mode: client.mode,
                application: client.application,
                patient,
            }),
        })
    }

    fn person(&self, claims: &Claims, primary: &str, client: &Client) -> Result<PatientScope, Refusal> {
        let consent = self
            .store
            .consents()
            .get(&claims.sub)
            .map_err(|_| Refusal::Unavailable)?
            .ok_or(Refusal::Revoked)?;
        let ours = consent.application == *client.application && consent.mode == client.mode;
        // Accept every Patient of the consent, because another one may have become the primary Patient after the token
        // was issued.
        let named = primary
            .strip_prefix("Patient/")
            .is_some_and(|id| consent.patients.iter().any(|patient| patient == id));
        if !ours || !named || consent.state != ConsentState::Exchanged {
            return Err(Refusal::Revoked);
        }
        if let Some(owner) = consent.owner {
            // Only operator's consents have no owner. For all other consents, each token is recorded until it expires
            // or is revoked. So refuse a token that is not recorded.
            let known = self.store.access_tokens().knows(&claims.jti, &consent.id);
            if !known.map_err(|_| Refusal::Unavailable)? {
                return Err(Refusal::Revoked);
            }
            return self.connected(consent, owner);
        }
        let owners = consent
            .patients
            .iter()
            .flat_map(|id| self.lake.owners_of(&consent.application, id))
            .collect();
        Ok(PatientScope {
            patients: consent.patients,
            owners,
            authorizations: Vec::new(),
        })
    }

    /// Returns the scope of a consent that a patient gave: the rows that the consent's own syncs stored.
    fn connected(&self, consent: Consent, owner: i64) -> Result<PatientScope, Refusal> {
        let authorizations = self
            .store
            .authorizations()
            .of_consent(&consent.id)
            .map_err(|_| Refusal::Unavailable)?;
        Ok(PatientScope {
            patients: consent.patients,
            owners: vec![owner],
            authorizations: authorizations.into_iter().map(|one| one.id).collect(),
        })
    }
}

/// Configures how a token's claims are verified. The expiry is checked elsewhere, with the store's clock.
fn validation(issuer: &str) -> Validation {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.set_issuer(&[issuer]);
    validation.set_audience(&[issuer]);
    validation.validate_exp = false;
    validation
}

fn refusal(error: jsonwebtoken::errors::Error) -> Refusal {
    use jsonwebtoken::errors::ErrorKind;
    match error.kind() {
        ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => Refusal::Issuer,
        ErrorKind::InvalidSignature => Refusal::Signature,
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => Refusal::Foreign,
        _ => Refusal::Malformed,
    }
}
