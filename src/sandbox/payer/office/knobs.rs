//! Settings, called knobs, with which a test makes an organization misbehave. No misbehaviour is random. Some
//! misbehaviours occur at every n-th request, the others at every request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All kinds of documents. The knob `attachment_bytes` sets the size of `large`. A request for the document `missing`
/// is answered by 404, and a request for `forbidden` by 403.
pub(in crate::sandbox::payer) const KINDS: &[&str] =
    &["pdf", "text", "html", "rtf", "ccda", "large", "missing", "forbidden"];

/// The knobs of an organization. With the default values, the organization works correctly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::sandbox::payer) struct Knobs {
    /// The delay in milliseconds of each answer of the FHIR API and of the token endpoint. A higher number than 600,000
    /// means 600,000.
    pub slow: u64,
    /// Every n-th FHIR request is answered by 429. 0 means that no request is.
    pub throttle_every: u64,
    /// The value of the header `Retry-After` in answers with 429, in seconds.
    pub retry_after: u64,
    /// Every n-th FHIR request is answered by `fail_status`. 0 means that no request is.
    pub fail_every: u64,
    /// The status of the failures that `fail_every` causes.
    pub fail_status: u16,
    /// The body of the failures that `fail_every` causes: an OperationOutcome. In it, `{token}` is replaced by the
    /// request's access token. `None` means the organization's own OperationOutcome.
    pub fail_outcome: Option<Value>,
    /// Every n-th page of search results is malformed. 0 means that no page is.
    pub malformed_every: u64,
    /// How the pages that `malformed_every` chooses are malformed.
    pub malformed: Malformed,
    /// The maximum number of resources on a page of search results.
    pub page: u64,
    /// The lifetime of an access token in seconds.
    pub token_seconds: u64,
    /// The token endpoint answers all requests by 500.
    pub fail_token: bool,
    /// The token endpoint refuses refresh tokens.
    pub refuse_refresh: bool,
    /// The token endpoint issues no refresh token, although the SMART configuration and the granted scope promise one.
    pub no_refresh_token: bool,
    /// The consent page sends everyone back to the application with the error `access_denied`, even those who agree.
    pub refuse_consent: bool,
    /// The consent page sends everyone who agrees back to the application with this error, such as `server_error`. An
    /// empty string means no error.
    pub consent_error: String,
    /// The organization has no records of any person, and the record locator does not find it.
    pub no_records: bool,
    /// Whether the organization grants refresh tokens. `None` means that `Organization::refreshable` decides.
    pub refreshable: Option<bool>,
    /// Resource types that the consent page does not offer. So no grant of a person includes them.
    pub withhold: Vec<String>,
    /// The maximum `_count`. A search with a larger `_count` is answered by 400. 0 means no limit.
    pub max_count: u64,
    /// A search with any `_count` is answered by 400.
    pub refuse_count: bool,
    /// A refused request of the FHIR API is answered with the text `refused` instead of the cause. If the access token
    /// is the cause, the answer still says so.
    pub silent: bool,
    /// Resource types that can be read but not searched.
    pub unsearchable: Vec<String>,
    /// Resource types that can be neither read nor searched.
    pub unserved: Vec<String>,
    /// For each resource type, a parameter that a search must have. A search without it is answered by 400.
    pub require: BTreeMap<String, String>,
    /// Whether the CapabilityStatement declares the parameters of `require` in an extension, as US Core does.
    pub tell_required: bool,
    /// For each resource type, the forbidden categories. A search is answered by 403 if it has a forbidden category or
    /// no category. A read is answered by 403 if the record has a forbidden category.
    pub forbid: BTreeMap<String, Vec<String>>,
    /// The form of `next` links.
    pub next: Next,
    /// The token response does not have `patient`, the id of the Patient.
    pub no_patient: bool,
    /// The token response has an ID token whose `fhirUser` is the Patient.
    pub fhir_user: bool,
    /// A search for Patients always returns the same two Patients, which are not the person's.
    pub two_patients: bool,
    /// The expected client secret. An empty string means `CLIENT_SECRET`.
    pub secret: String,
    /// Where the token endpoint accepts the client's secret.
    pub secret_by: SecretBy,
    /// The answers of the FHIR API, except failures of other knobs, are XML.
    pub xml: bool,
    /// The version of FHIR that the CapabilityStatement names.
    pub fhir_version: String,
    /// The number of bytes by which the CapabilityStatement is made larger.
    pub statement_padding: usize,
    /// A request for the CapabilityStatement is answered by 404.
    pub no_statement: bool,
    /// A search includes the Provenance of its matches if the client requests it with `_revinclude`. A search for
    /// Provenance itself is refused.
    pub provenance_along: bool,
    /// The status with which a search with `_revinclude` is refused, although the CapabilityStatement may list
    /// `_revinclude`. 0 means that such a search is answered.
    pub refuse_along: u16,
    /// Whether searches accept `_lastUpdated`.
    pub last_updated: bool,
    /// Resource types that the CapabilityStatement does not list.
    pub unlisted: Vec<String>,
    /// The status with which all searches are refused. 0 means that searches are answered.
    pub refuse_searches: u16,
    /// The status of the HTML page with which the token endpoint answers all requests. 0 means that the token endpoint
    /// works correctly.
    pub token_page: u16,
    /// In the SMART configuration, the token endpoint has another host name, which leads to the same machine.
    pub token_elsewhere: bool,
    /// The kinds of documents, such as `pdf`, that the organization has in addition to its records. `all` means all
    /// kinds.
    pub attachments: Vec<String>,
    /// The edition of the documents. It is part of the documents' text, and it decides the version of the records that
    /// link to them.
    pub attachment_edition: u64,
    /// The size of the large document in bytes.
    pub attachment_bytes: u64,
    /// A Binary is always sent as JSON, even if the header `Accept` requests another format.
    pub binary_json: bool,
}

/// The form of the address of the next page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sandbox::payer) enum Next {
    /// An absolute URL under the FHIR base.
    #[default]
    Under,
    /// An absolute path without a host name, such as `/lakeshore/fhir/Observation?...`.
    Path,
    /// Only a query, such as `?_page=...`.
    Query,
    /// An absolute URL with `http` instead of `https`.
    Http,
    /// An absolute URL with another host name, which leads to the same machine.
    Host,
}

/// Where the token endpoint accepts the client's secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sandbox::payer) enum SecretBy {
    /// In the header `Authorization` or in the body, as RFC 6749 defines.
    #[default]
    Any,
    /// Only in the header, without form decoding.
    Plain,
    /// Only in the body.
    Body,
}

/// How a page of search results is malformed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sandbox::payer) enum Malformed {
    /// The JSON is cut off in the middle.
    #[default]
    Truncated,
    /// A page of HTML, with status 200.
    Html,
    /// The `next` link leads to the same page again.
    Loop,
    /// The `next` link leads to another host.
    Foreign,
    /// The first entry is not a resource, because it has no type.
    Entry,
}

impl Default for Knobs {
    fn default() -> Knobs {
        Knobs {
            slow: 0,
            throttle_every: 0,
            retry_after: 1,
            fail_every: 0,
            fail_status: 503,
            fail_outcome: None,
            malformed_every: 0,
            malformed: Malformed::default(),
            page: 50,
            token_seconds: 3600,
            fail_token: false,
            refuse_refresh: false,
            no_refresh_token: false,
            refuse_consent: false,
            consent_error: String::new(),
            no_records: false,
            refreshable: None,
            withhold: Vec::new(),
            max_count: 0,
            refuse_count: false,
            silent: false,
            unsearchable: Vec::new(),
            unserved: Vec::new(),
            require: BTreeMap::new(),
            tell_required: false,
            forbid: BTreeMap::new(),
            next: Next::default(),
            no_patient: false,
            fhir_user: false,
            two_patients: false,
            secret: String::new(),
            secret_by: SecretBy::default(),
            xml: false,
            fhir_version: "4.0.1".to_owned(),
            statement_padding: 0,
            no_statement: false,
            provenance_along: false,
            refuse_along: 0,
            last_updated: false,
            unlisted: Vec::new(),
            refuse_searches: 0,
            token_page: 0,
            token_elsewhere: false,
            attachments: Vec::new(),
            attachment_edition: 0,
            attachment_bytes: 1 << 20,
            binary_json: false,
        }
    }
}

impl Knobs {
    /// Returns these knobs after changes. `changes` is a JSON object with the names and new values of some knobs. Fails
    /// if a name or a value is invalid.
    pub(in crate::sandbox::payer) fn turned(&self, changes: &Value) -> Result<Knobs, KnobError> {
        let Some(changes) = changes.as_object() else {
            return Err(KnobError("knobs are a JSON object of names and values".to_owned()));
        };
        let mut all = serde_json::to_value(self).map_err(|error| KnobError(error.to_string()))?;
        for (name, value) in changes {
            all[name] = value.clone();
        }
        let knobs: Knobs = serde_json::from_value(all).map_err(|error| KnobError(error.to_string()))?;
        if !(400..=599).contains(&knobs.fail_status) {
            return Err(KnobError("fail_status is a status from 400 to 599".to_owned()));
        }
        for (name, status) in [
            ("refuse_along", knobs.refuse_along),
            ("refuse_searches", knobs.refuse_searches),
            ("token_page", knobs.token_page),
        ] {
            if status != 0 && !(200..=599).contains(&status) {
                return Err(KnobError(format!("{name} is 0 or a status from 200 to 599")));
            }
        }
        let is_document = |name: &String| name == "all" || KINDS.contains(&name.as_str());
        if !knobs.attachments.iter().all(is_document) || knobs.attachment_bytes > 1 << 30 {
            let kinds = KINDS.join(", ");
            return Err(KnobError(format!(
                "attachments are all, {kinds}; the large one has at most 2^30 bytes"
            )));
        }
        if !(1..=1000).contains(&knobs.page) {
            return Err(KnobError("page is a number from 1 to 1000".to_owned()));
        }
        Ok(knobs)
    }

    /// Returns the delay of an answer, at most ten minutes.
    pub(in crate::sandbox::payer) fn delay(&self) -> Duration {
        Duration::from_millis(self.slow.min(600_000))
    }
}

/// The reason why knobs cannot be set.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KnobError(String);

impl KnobError {
    /// Creates the error for an organization that does not exist.
    pub(in crate::sandbox::payer) fn nobody(organization: &str) -> KnobError {
        KnobError(format!("there is no organization {organization:?} in the sandbox"))
    }
}

/// The change of one knob, as the command line writes it: `lakeshore.slow=200`, or `all.slow=200` for all
/// organizations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The organization's id, or `all` for all organizations.
    pub organization: String,
    /// The knob's name.
    pub name: String,
    /// The knob's new value.
    pub value: Value,
}

impl std::str::FromStr for Turn {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Turn, KnobError> {
        let parts = text.split_once('=').and_then(|(place, value)| {
            let (organization, name) = place.split_once('.')?;
            Some((organization, name, value))
        });
        let Some((organization, name, value)) = parts else {
            return Err(KnobError("a knob is turned by ORGANIZATION.NAME=VALUE".to_owned()));
        };
        Ok(Turn {
            organization: organization.to_owned(),
            name: name.to_owned(),
            // A value that is not JSON is a string. So `malformed=html` needs no quotes.
            value: serde_json::from_str(value).unwrap_or_else(|_| value.into()),
        })
    }
}

/// The counts of an organization's requests, which tests read.
#[derive(Debug, Default)]
pub(in crate::sandbox::payer) struct Counts {
    pub(in crate::sandbox::payer) fhir: AtomicU64,
    pub(in crate::sandbox::payer) pages: AtomicU64,
    pub(in crate::sandbox::payer) token: AtomicU64,
    at_once: AtomicU64,
    max_at_once: AtomicU64,
}

/// A guard for a FHIR request. The request counts as in flight until the guard is dropped.
pub(in crate::sandbox::payer) struct InFlight<'c>(&'c Counts);

impl Counts {
    /// Counts a FHIR request as in flight until the returned guard is dropped.
    pub(in crate::sandbox::payer) fn enter(&self) -> InFlight<'_> {
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_at_once.fetch_max(now, Ordering::SeqCst);
        InFlight(self)
    }

    /// Returns the counts as JSON.
    pub(in crate::sandbox::payer) fn to_json(&self) -> Value {
        serde_json::json!({
            "fhir": self.fhir.load(Ordering::SeqCst),
            "pages": self.pages.load(Ordering::SeqCst),
            "token": self.token.load(Ordering::SeqCst),
            "max_at_once": self.max_at_once.load(Ordering::SeqCst),
        })
    }

    /// Resets the counts. The number of requests in flight is kept, because these requests still decrement it.
    pub(in crate::sandbox::payer) fn reset(&self) {
        for count in [&self.fhir, &self.pages, &self.token, &self.max_at_once] {
            count.store(0, Ordering::SeqCst);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.at_once.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Increments a count. Returns whether the new number is a multiple of `every`. If `every` is 0, returns false.
pub(in crate::sandbox::payer) fn strikes(count: &AtomicU64, every: u64) -> bool {
    let number = count.fetch_add(1, Ordering::SeqCst) + 1;
    every > 0 && number.is_multiple_of(every)
}
#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn knobs_are_turned_one_by_one_and_checked() {
        let knobs = Knobs::default()
            .turned(&json!({"slow": 5, "malformed": "foreign"}))
            .unwrap();
        assert_eq!((knobs.slow, knobs.malformed, knobs.page), (5, Malformed::Foreign, 50));
        for bad in [
            json!(1),
            json!({"fast": 1}),
            json!({"slow": -1}),
            json!({"fail_status": 200}),
            json!({"refuse_along": 1}),
            json!({"page": 0}),
            json!({"malformed": "odd"}),
        ] {
            assert!(knobs.turned(&bad).is_err(), "{bad}");
        }
        let turn: Turn = "all.malformed=html".parse().unwrap();
        assert_eq!((turn.organization.as_str(), turn.value), ("all", json!("html")));
        assert!("all.slow".parse::<Turn>().is_err() && "slow=1".parse::<Turn>().is_err());
    }

    #[test]
    fn every_third_strikes() {
        let count = AtomicU64::new(0);
        let struck: Vec<bool> = (0..6).map(|_| strikes(&count, 3)).collect();
        assert_eq!(struck, [false, false, true, false, false, true]);
        assert!(!strikes(&count, 0));
    }
}
