//! Finds the Patient of a grant if the token response has none: the `fhirUser` of the ID token or, if there is none,
//! the only Patient that the access token can find.

use serde_json::Value;
use url::Url;

use super::calls::Client;
use super::discovery::Configuration;
use super::error::Error;
use super::http::realm::Realm;
use super::identity::Provider;
use super::registration::Registration;
use super::token::{Grant, patient_id};

/// What is known when a patient comes back from a source.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The source's FHIR base.
    pub fhir_base: &'a str,
    /// The configuration of the source's authorization server.
    pub configuration: &'a Configuration,
    /// The service's registration with the source.
    pub registration: &'a Registration,
    /// The `nonce` of the authorization request.
    pub nonce: &'a str,
    /// The service's time in seconds.
    pub now: i64,
}

impl Client {
    /// Returns the id of the Patient whose records the source gives for the access token. Returns `None` if there is
    /// not exactly one such Patient.
    pub async fn whose(&self, arrival: &Arrival<'_>, grant: &Grant) -> Result<Option<String>, Error> {
        if let Some(id) = self.fhir_user(arrival, grant).await? {
            return Ok(Some(id));
        }
        let base = arrival.fhir_base.trim_end_matches('/');
        let realm = Realm::under([base]);
        for address in [format!("{base}/Patient?_count=2"), format!("{base}/Patient")] {
            let answer = self.fetch(&address, &grant.access_token, &realm).await?;
            match answer.status {
                200 => return Ok(sole_patient(&answer.body)),
                // The source may refuse the page size. So the next address is tried, which has no page size.
                400 | 422 => {}
                status if super::is_passing(status) => return Err(answer.refusal()),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns the Patient in the `fhirUser` of a verified ID token.
    async fn fhir_user(&self, arrival: &Arrival<'_>, grant: &Grant) -> Result<Option<String>, Error> {
        let Configuration { issuer, jwks_uri, .. } = arrival.configuration;
        let (Some(token), Some(issuer), Some(_)) = (&grant.id_token, issuer, jwks_uri) else {
            return Ok(None);
        };
        let provider = Provider {
            issuer: issuer.clone(),
            configuration: arrival.configuration.clone(),
        };
        let client_id = &arrival.registration.client_id;
        let verified = self
            .identity(&provider, client_id, arrival.nonce, token, arrival.now)
            .await;
        match verified {
            Ok(identity) => Ok(identity
                .fhir_user
                .and_then(|user| named_patient(&user, arrival.fhir_base))),
            Err(error) if error.may_pass() => Err(error),
            Err(_) => Ok(None),
        }
    }
}

/// Returns the id in a `fhirUser`, if it is a Patient of this source.
fn named_patient(user: &str, base: &str) -> Option<String> {
    let relative = match Url::parse(user) {
        Ok(_) => user.strip_prefix(base.trim_end_matches('/'))?.strip_prefix('/')?,
        Err(_) => user,
    };
    let id = relative.strip_prefix("Patient/")?;
    patient_id(id).filter(|one| *one == id).map(str::to_owned)
}

/// Returns the id of the only Patient on a page. Returns `None` if the page has several Patients or a next page.
fn sole_patient(body: &[u8]) -> Option<String> {
    let page: Value = serde_json::from_slice(body).ok()?;
    let mut links = page["link"].as_array().into_iter().flatten();
    if page["resourceType"] != "Bundle" || links.any(|link| link["relation"] == "next") {
        return None;
    }
    let entries = page["entry"].as_array().into_iter().flatten();
    let mut patients = entries.filter(|entry| entry["resource"]["resourceType"] == "Patient");
    let id = patients.next()?["resource"]["id"].as_str()?;
    match patients.next() {
        None => patient_id(id).filter(|one| *one == id).map(str::to_owned),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fhir_user_is_a_patient_of_the_source() {
        let base = "https://payer.example/fhir/";
        let of = |user: &str| named_patient(user, base);
        assert_eq!(of("Patient/p-1").as_deref(), Some("p-1"));
        assert_eq!(of("https://payer.example/fhir/Patient/p_1").as_deref(), Some("p_1"));
        for other in [
            "Practitioner/p",
            "https://other.example/fhir/Patient/p",
            "https://payer.example/fhir/Patient/p/q",
            "Patient/",
            "Patient/..",
            "p",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn one_patient_is_the_patient_and_several_are_nobody() {
        let of = |page: Value| sole_patient(page.to_string().as_bytes());
        let entry = |id: &str| json!({"resource": {"resourceType": "Patient", "id": id}});
        let bundle = |entries: Value| json!({"resourceType": "Bundle", "entry": entries});
        assert_eq!(of(bundle(json!([entry("p")]))).as_deref(), Some("p"));
        assert_eq!(of(bundle(json!([entry("p"), entry("q")]))), None);
        assert_eq!(of(bundle(json!([]))), None);
        let mut more = bundle(json!([entry("p")]));
        more["link"] = json!([{"relation": "next", "url": "x"}]);
        assert_eq!(of(more), None);
        assert_eq!(sole_patient(b"<html>"), None);
    }
}
