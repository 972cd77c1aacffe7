//! Token requests to sources: codes, refresh tokens, and the two grants for located facilities.

use serde_json::Value;

use super::authorize::Verifier;
use super::calls::Client;
use super::discovery::Configuration;
use super::error::Error;
use super::http::{Answer, host, malformed};
use super::registration::Registration;
use super::secret::{encoded, is_about_client, ways};
use crate::consent::ClientAuth;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The maximum length in bytes of a token or another text in an answer.
const LONGEST: usize = 64 << 10;
/// The maximum length in bytes of a Patient's id. R4 allows 64, but some sources use more.
const LONGEST_ID: usize = 256;

/// What a source has granted.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    /// The access token.
    pub access_token: String,
    /// The lifetime of the access token in seconds, if the source states it.
    pub expires_in: Option<i64>,
    /// The refresh token, if there is one.
    pub refresh_token: Option<String>,
    /// The granted scope, if the source states it.
    pub scope: Option<String>,
    /// The id of the Patient at the source.
    pub patient: Option<String>,
    /// The ID token with the patient's identity, if there is one.
    pub id_token: Option<String>,
    /// How the source accepted the secret. `None` if no secret was sent.
    pub client_auth: Option<ClientAuth>,
}

impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grant")
            .field("expires_in", &self.expires_in)
            .field("refreshable", &self.refresh_token.is_some())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Exchanges the authorization code of a patient who came back from the source. Returns the tokens.
    pub async fn exchange(
        &self,
        configuration: &Configuration,
        registration: &Registration,
        redirect_uri: &str,
        code: &str,
        verifier: &Verifier,
    ) -> Result<Grant, Error> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", &verifier.code_verifier),
        ];
        self.token(configuration, registration, &form).await
    }

    /// Refreshes the access token. If the answer has no refresh token, the one that was sent stays valid.
    pub async fn refresh(
        &self,
        configuration: &Configuration,
        registration: &Registration,
        refresh_token: &str,
    ) -> Result<Grant, Error> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
        self.token(configuration, registration, &form).await
    }

    /// Requests access to a facility for a verified person, with the identity provider's ID token as the assertion.
    pub async fn assert_identity(
        &self,
        configuration: &Configuration,
        registration: &Registration,
        id_token: &str,
    ) -> Result<Grant, Error> {
        let form = [
            ("grant_type", JWT_BEARER),
            ("assertion", id_token),
            ("scope", &registration.scope),
        ];
        self.token(configuration, registration, &form).await
    }

    /// Requests access to a facility for a located person. This works in networks that trust the service.
    pub async fn access_located(
        &self,
        configuration: &Configuration,
        registration: &Registration,
        patient: &str,
    ) -> Result<Grant, Error> {
        let form = [
            ("grant_type", "client_credentials"),
            ("patient", patient),
            ("scope", &registration.scope),
        ];
        self.token(configuration, registration, &form).await
    }

    /// Requests a token. If the source refuses the client (not the grant), tries the next way of sending the secret.
    async fn token(
        &self,
        configuration: &Configuration,
        registration: &Registration,
        grant: &[(&str, &str)],
    ) -> Result<Grant, Error> {
        let Some(secret) = &registration.client_secret else {
            return self.ask_token(configuration, registration, grant, None).await;
        };
        let ways = ways(configuration, registration, secret);
        let mut refused = None;
        for how in ways {
            match self.ask_token(configuration, registration, grant, Some(how)).await {
                // If all ways fail, the first refusal is reported, because the first way is the most likely one.
                Err(error) if is_about_client(&error) => refused = refused.or(Some(error)),
                answer => return answer,
            }
        }
        Err(refused.unwrap_or(Error::Setup))
    }

    pub(super) async fn ask_token(
        &self,
        configuration: &Configuration,
        registration: &Registration,
        grant: &[(&str, &str)],
        how: Option<ClientAuth>,
    ) -> Result<Grant, Error> {
        if how.is_some() {
            self.may_have_secret(configuration, registration)?;
        }
        let id = registration.client_id.as_str();
        let secret = registration.client_secret.as_deref().unwrap_or_default();
        let mut form = grant.to_vec();
        let mut basic = None;
        match how {
            None => form.push(("client_id", id)),
            Some(ClientAuth::Post) => form.extend([("client_id", id), ("client_secret", secret)]),
            // RFC 6749 requires the client id and the secret in form encoding.
            Some(ClientAuth::Basic) => basic = Some((encoded(id), encoded(secret))),
            Some(ClientAuth::PlainBasic) => basic = Some((id.to_owned(), secret.to_owned())),
        }
        let basic = basic.as_ref().map(|(id, secret)| (id.as_str(), secret.as_str()));
        let answer = self.http.post_form(&configuration.token_endpoint, &form, basic).await?;
        let grant = granted(&answer)?;
        Ok(Grant {
            client_auth: how,
            ..grant
        })
    }
}

fn granted(answer: &Answer) -> Result<Grant, Error> {
    if !matches!(answer.status, 200 | 201) {
        return Err(refused(answer));
    }
    let json: Value = answer.json().or_else(|error| of_form(&answer.body).ok_or(error))?;
    let text = |name: &str| {
        let text = json[name]
            .as_str()
            .filter(|text| !text.is_empty() && text.len() <= LONGEST);
        text.map(str::to_owned)
    };
    if json["error"].is_string() {
        return Err(refused(answer));
    }
    let access_token = text("access_token").ok_or_else(|| malformed(&answer.url, "no access token"))?;
    let bearer = text("token_type").is_none_or(|kind| kind.to_ascii_lowercase().starts_with("bearer"));
    if !bearer {
        return Err(malformed(&answer.url, "a token that is no bearer token"));
    }
    // Some servers send the number as a string.
    let seconds = &json["expires_in"];
    let expires_in = seconds.as_i64().or_else(|| seconds.as_str()?.parse().ok());
    Ok(Grant {
        access_token,
        expires_in: expires_in.filter(|seconds| *seconds > 0),
        refresh_token: text("refresh_token"),
        scope: text("scope"),
        patient: text("patient").and_then(|patient| patient_id(&patient).map(str::to_owned)),
        id_token: text("id_token"),
        client_auth: None,
    })
}

/// Reads a token response that a source has written as a form, as OAuth 1.0 does. Returns `None` if it has no access
/// token.
fn of_form(body: &[u8]) -> Option<Value> {
    let members = url::form_urlencoded::parse(body);
    let members: serde_json::Map<String, Value> = members
        .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
        .collect();
    members.contains_key("access_token").then_some(Value::Object(members))
}

/// Returns the id in `patient`, which is an id or a reference. Returns `None` if the id cannot be used in a request.
/// With an empty id, for example, a lenient source would return everybody's records.
pub(super) fn patient_id(patient: &str) -> Option<&str> {
    let id = patient.rsplit_once('/').map_or(patient, |(_, id)| id);
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'%' | b'\\' | b'"' | b'<' | b'>');
    let whole = (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(plain);
    (whole && !matches!(id, "." | "..")).then_some(id)
}

/// Returns the error for a refused token request: the OAuth error in the answer. If the answer has none, or if its
/// status means a temporary failure, returns the error for the status.
fn refused(answer: &Answer) -> Error {
    let code = answer
        .json::<Value>()
        .ok()
        .and_then(|json| json["error"].as_str().map(str::to_owned));
    match code {
        Some(code) if answer.status < 500 && answer.status != 429 => Error::Refused {
            host: host(&answer.url),
            code: code
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
                .take(64)
                .collect(),
        },
        _ => answer.refusal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status,
            retry_after: None,
            content_type: None,
            body: body.as_bytes().to_vec(),
            url: "https://payer.example/token?secret=1".parse().unwrap(),
        }
    }

    #[test]
    fn what_sources_grant_is_read_as_they_write_it() {
        let grant = granted(&answer(
            200,
            r#"{"access_token":"a","token_type":"bearer","expires_in":"3600","refresh_token":"r","scope":"x y","patient":"Patient/p1"}"#,
        ))
        .unwrap();
        assert_eq!((grant.expires_in, grant.patient.as_deref()), (Some(3600), Some("p1")));
        assert_eq!(
            (grant.refresh_token.as_deref(), grant.scope.as_deref()),
            (Some("r"), Some("x y"))
        );
        assert_eq!(
            format!("{grant:?}"),
            "Grant { expires_in: Some(3600), refreshable: true, .. }"
        );
        let form = "access_token=a%2Bb&token_type=bearer&expires_in=3600&patient=p1&scope=x+y";
        let grant = granted(&answer(201, form)).unwrap();
        assert_eq!((grant.access_token.as_str(), grant.expires_in), ("a+b", Some(3600)));
        assert_eq!(
            (grant.scope.as_deref(), grant.patient.as_deref()),
            (Some("x y"), Some("p1"))
        );
        for body in [
            "",
            "[]",
            "{}",
            r#"{"access_token":""}"#,
            r#"{"access_token":"a","token_type":"mac"}"#,
            r#"{"access_token":7}"#,
        ] {
            assert!(
                matches!(granted(&answer(200, body)), Err(Error::Malformed { .. })),
                "{body}"
            );
        }
    }

    #[test]
    fn a_patient_is_somebody_whose_records_can_be_asked_for() {
        for (given, id) in [
            ("p1", "p1"),
            ("Patient/p1", "p1"),
            ("https://payer.example/fhir/Patient/p.1-2_3", "p.1-2_3"),
        ] {
            assert_eq!(patient_id(given), Some(id));
        }
        let long = "x".repeat(LONGEST_ID + 1);
        for bad in [
            "",
            "Patient/",
            "/",
            ".",
            "..",
            "Patient/..",
            "a b",
            "a\nb",
            "a\0b",
            "a?b",
            "a#b",
            "%2e%2e",
            "<b>",
            "é",
            &long,
        ] {
            assert_eq!(patient_id(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_refusal_is_told_from_a_trouble_that_may_pass() {
        let error = granted(&answer(
            400,
            r#"{"error":"invalid_grant","error_description":"secret"}"#,
        ))
        .unwrap_err();
        assert_eq!(error.to_string(), "payer.example refused: invalid_grant");
        assert!(!error.may_pass());
        for status in [429, 500, 503] {
            assert!(
                granted(&answer(status, r#"{"error":"invalid_grant"}"#))
                    .unwrap_err()
                    .may_pass()
            );
        }
        assert!(!granted(&answer(404, "gone")).unwrap_err().may_pass());
        let error = granted(&answer(200, r#"{"error":"x<script>"}"#)).unwrap_err();
        assert_eq!(error.to_string(), "payer.example refused: xscript");
    }
}
