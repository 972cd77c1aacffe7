//! Settings, called knobs, with which a test makes an organization misbehave. No misbehaviour is random. Some
//! misbehaviours occur at every n-th request, the others always.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All kinds of documents. The knob `attachment_bytes` sets the size of `large`. A request for `missing` is answered by
/// 404, and a request for `forbidden` by 403.
pub(in crate::sandbox::payer) const KINDS: &[&str] =
    &["pdf", "text", "html", "rtf", "ccda", "large", "missing", "forbidden"];

/// The knobs of an organization. With the default values, the organization works correctly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::sandbox::payer) struct Knobs {
    /// The delay in milliseconds of each answer of the FHIR API and the token endpoint, at most 600,000.
    pub slow: u64,
    /// Every n-th FHIR request is answered by 429. 0 means none.
    pub throttle_every: u64,
    /// The header `Retry-After` of the answers with 429, in seconds.
    pub retry_after: u64,
    /// Every n-th FHIR request is answered by `fail_status`. 0 means none.
    pub fail_every: u64,
    /// The status of the failures that `fail_every` causes.
    pub fail_status: u16,
    /// The OperationOutcome of the failures that `fail_every` causes. `None` means the organization's own. `{token}` in
    /// it is replaced by the request's access token.
    pub fail_outcome: Option<Value>,
    /// Every n-th page of search results is malformed. 0 means none.
    pub malformed_every: u64,
    /// How the pages that `malformed_every` chooses are malformed.
    pub malformed: Malformed,
    /// The maximum number of resources on a page.
    pub page: u64,
    /// The lifetime of an access token in seconds.
    pub token_seconds: u64,
    /// The token endpoint answers all requests by 500.
    pub fail_token: bool,
    /// The token endpoint refuses refresh tokens.
    pub refuse_refresh: bool,
    /// No refresh token is issued, although the SMART configuration and the granted scope promise one.
    pub no_refresh_token: bool,
    /// Everyone who logs in is sent back with `access_denied`, whatever they choose.
    pub refuse_consent: bool,
    /// Everyone who agrees is sent back with this error, such as `server_error`. An empty string means no error.
    pub consent_error: String,
    /// No person has any records, and the record locator finds nobody here.
    pub no_records: bool,
    /// Whether refresh tokens are granted. `None` means that the organization's own setting decides.
    pub refreshable: Option<bool>,
    /// Resource types that the consent page does not offer, so no grant includes them.
    pub withhold: Vec<String>,
    /// The maximum `_count`. A larger `_count` is answered by 400. 0 means no limit.
    pub max_count: u64,
    /// Any `_count` is answered by 400.
    pub refuse_count: bool,
    /// The errors of the FHIR API do not say the cause in their texts.
    pub silent: bool,
    /// Types that can be read but not searched.
    pub unsearchable: Vec<String>,
    /// Types that can be neither read nor searched.
    pub unserved: Vec<String>,
    /// For each type, a parameter that searches must have. Searches without it are answered by 400.
    pub require: BTreeMap<String, String>,
    /// Whether the CapabilityStatement declares the parameters of `require` in an extension, as US Core does.
    pub tell_required: bool,
    /// For each type, the forbidden categories. A search is answered by 403 if it has a forbidden category or no
    /// category.
    pub forbid: BTreeMap<String, Vec<String>>,
    /// The form of `next` links.
    pub next: Next,
    /// The token response does not name the Patient.
    pub no_patient: bool,
    /// The token response has an ID token whose `fhirUser` is the Patient.
    pub fhir_user: bool,
    /// A search for Patients returns two Patients.
    pub two_patients: bool,
    /// The expected client secret. An empty string means the usual one, `CLIENT_SECRET`.
    pub secret: String,
    /// How the client must send the secret.
    pub secret_by: SecretBy,
    /// All answers of the FHIR API are XML.
    pub xml: bool,
    /// The version of FHIR that the CapabilityStatement names.
    pub fhir_version: String,
    /// The number of extra bytes in the CapabilityStatement.
    pub statement_padding: usize,
    /// There is no CapabilityStatement.
    pub no_statement: bool,
    /// A search includes Provenance if the client requests it with `_revinclude`. Provenance cannot be searched by
    /// itself.
    pub provenance_along: bool,
    /// The status with which searches with `_revinclude` are refused, although the CapabilityStatement lists
    /// `_revinclude`. 0 means that these searches are answered.
    pub refuse_along: u16,
    /// Whether searches accept `_lastUpdated`.
    pub last_updated: bool,
    /// Types that the CapabilityStatement leaves out.
    pub unlisted: Vec<String>,
    /// The status with which all searches are refused. 0 means that searches are answered.
    pub refuse_searches: u16,
    /// The token endpoint answers all requests with an HTML page and this status. 0 means that it works correctly.
    pub token_page: u16,
    /// In the SMART configuration, the token endpoint has another host name, which leads to the same machine.
    pub token_elsewhere: bool,
    /// The kinds of documents that exist in addition to records, such as `pdf`, or `all`.
    pub attachments: Vec<String>,
    /// The edition of the documents. It is part of the documents' text and of their version.
    pub attachment_edition: u64,
    /// The size of the large document in bytes.
    pub attachment_bytes: u64,
    /// Binaries are always sent as JSON, whatever `Accept` says.
    pub binary_json: bool,
}

/// The form of the address of the next page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sandbox::payer) enum Next {
    /// An absolute URL under the FHIR base.
    #[default]
    Under,
    /// An absolute path.
    Path,
    /// Only a query.
    Query,
    /// An absolute URL with `http` instead of `https`.
    Http,
    /// An absolute URL with another host name, which leads to the same machine.
    Host,
}

/// Where the client's secret is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sandbox::payer) enum SecretBy {
    /// In the header or in the body, as RFC 6749 defines.
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
    /// The `next` link leads to the page itself.
    Loop,
    /// The `next` link leads to another host.
    Foreign,
    /// One entry is not a resource.
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
    /// Returns these knobs with the changes of a JSON object of names and values. Fails if a name or a value is
    /// invalid.
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

    /// Returns the delay of an answer.
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

/// One knob in the form of the command line, such as `lakeshore.slow=200` or `all.slow=200`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The organization's id, or `all`.
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

/// The counts of an organization's requests.
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

    /// Resets the counts, except the number of requests in flight.
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

/// Increments a count. Returns whether the new number is a multiple of `every`; 0 gives `false`.
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
