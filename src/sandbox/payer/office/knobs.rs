//! What a test turns at an organization to make it misbehave. Every misbehaviour is by count, never by chance.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How an organization behaves. The defaults are those of one that works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::sandbox::payer) struct Knobs {
    /// Milliseconds that every answer of the FHIR API and the token endpoint takes longer.
    pub slow: u64,
    /// Every so many FHIR requests are answered by 429; never at 0.
    pub throttle_every: u64,
    /// The `Retry-After` of those, in seconds.
    pub retry_after: u64,
    /// Every so many FHIR requests are answered by `fail_status`; never at 0.
    pub fail_every: u64,
    /// The status of failures.
    pub fail_status: u16,
    /// Their OperationOutcome, if it is not the organization's own. `{token}` in it stands for the access token that
    /// came.
    pub fail_outcome: Option<Value>,
    /// Every so many pages of search results are malformed; never at 0.
    pub malformed_every: u64,
    /// In which way.
    pub malformed: Malformed,
    /// How many resources a page holds at most.
    pub page: u64,
    /// How many seconds an access token is good for.
    pub token_seconds: u64,
    /// The token endpoint answers every request by 500.
    pub fail_token: bool,
    /// Refresh tokens are refused.
    pub refuse_refresh: bool,
    /// No refresh token is given, though the SMART configuration and the granted scope promise one.
    pub no_refresh_token: bool,
    /// Whoever logs in is sent back with `access_denied`, whatever they choose.
    pub refuse_consent: bool,
    /// Whoever agrees is sent back with this error, as `server_error`, where it is not empty.
    pub consent_error: String,
    /// Nobody has any records, and the record locator finds nobody here.
    pub no_records: bool,
    /// Whether refresh tokens are granted, where that differs from what the organization does by itself.
    pub refreshable: Option<bool>,
    /// What of the page of consent is not offered: resource types that are left out of every grant.
    pub withhold: Vec<String>,
    /// A larger `_count` is answered by 400; none is at 0.
    pub max_count: u64,
    /// Any `_count` is answered by 400.
    pub refuse_count: bool,
    /// Refusals of the FHIR API say nothing of their cause.
    pub silent: bool,
    /// Types that can be read, and searched in no way.
    pub unsearchable: Vec<String>,
    /// Types that can neither be read nor searched.
    pub unserved: Vec<String>,
    /// Searches of a type without this parameter are answered by 400: by type.
    pub require: BTreeMap<String, String>,
    /// Whether the CapabilityStatement names those parameters as US Core has it.
    pub tell_required: bool,
    /// Searches of a type without a category, and those of these categories, are answered by 403: by type.
    pub forbid: BTreeMap<String, Vec<String>>,
    /// How `next` links are written.
    pub next: Next,
    /// The token response names no Patient.
    pub no_patient: bool,
    /// It has an ID token whose `fhirUser` is the Patient.
    pub fhir_user: bool,
    /// A search for Patients finds two.
    pub two_patients: bool,
    /// The client secret that is wanted, in the place of the organization's own.
    pub secret: String,
    /// How it has to come.
    pub secret_by: SecretBy,
    /// Every answer of the FHIR API is XML.
    pub xml: bool,
    /// The version of FHIR that the CapabilityStatement names.
    pub fhir_version: String,
    /// Bytes by which the CapabilityStatement is longer than it has to be.
    pub statement_padding: usize,
    /// There is no CapabilityStatement.
    pub no_statement: bool,
    /// Searches bring Provenance along where they are asked to, and Provenance has no search of its own.
    pub provenance_along: bool,
    /// The status by which such searches are refused, though the CapabilityStatement lists them; never at 0.
    pub refuse_along: u16,
    /// Records are found by `_lastUpdated`.
    pub last_updated: bool,
    /// Types that the CapabilityStatement leaves out.
    pub unlisted: Vec<String>,
    /// The status by which every search is refused; none at 0.
    pub refuse_searches: u16,
    /// The token endpoint answers with a page for people, with this status; never at 0.
    pub token_page: u16,
    /// The SMART configuration has the token endpoint at another host name of the same machine.
    pub token_elsewhere: bool,
    /// Which documents there are beside the records, as `pdf`, or `all`.
    pub attachments: Vec<String>,
    /// Which edition of them.
    pub attachment_edition: u64,
    /// How many bytes the large one has.
    pub attachment_bytes: u64,
    /// Binaries come as JSON, whatever is asked for.
    pub binary_json: bool,
}

/// How the address of a next page is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sandbox::payer) enum Next {
    /// Whole, under the FHIR base.
    #[default]
    Under,
    /// As an absolute path.
    Path,
    /// As a query.
    Query,
    /// Whole, with `http` in place of `https`.
    Http,
    /// Whole, at another host name of the same machine.
    Host,
}

/// Where a client's secret is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sandbox::payer) enum SecretBy {
    /// As RFC 6749 says, in the header or in the body.
    #[default]
    Any,
    /// In the header, where nothing is decoded.
    Plain,
    /// In the body.
    Body,
}

/// What is wrong with a malformed page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sandbox::payer) enum Malformed {
    /// The JSON breaks off in the middle.
    #[default]
    Truncated,
    /// A page of HTML, with status 200.
    Html,
    /// The `next` link leads to the page itself.
    Loop,
    /// The `next` link leads to a host that is not the organization's.
    Foreign,
    /// One entry is no resource.
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
    /// These knobs with some turned: a JSON object of names and values.
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
        let is_document =
            |name: &String| name == "all" || super::super::records::papers::KINDS.contains(&name.as_str());
        if !knobs.attachments.iter().all(is_document) || knobs.attachment_bytes > 1 << 30 {
            let kinds = super::super::records::papers::KINDS.join(", ");
            return Err(KnobError(format!(
                "attachments are all, {kinds}; the large one has at most 2^30 bytes"
            )));
        }
        if !(1..=1000).contains(&knobs.page) {
            return Err(KnobError("page is a number from 1 to 1000".to_owned()));
        }
        Ok(knobs)
    }

    /// How much longer an answer takes.
    pub(in crate::sandbox::payer) fn delay(&self) -> Duration {
        Duration::from_millis(self.slow.min(600_000))
    }
}

/// Why knobs cannot be turned like that.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KnobError(String);

impl KnobError {
    /// There is no organization of this id.
    pub(in crate::sandbox::payer) fn nobody(organization: &str) -> KnobError {
        KnobError(format!("there is no organization {organization:?} in the sandbox"))
    }
}

/// One knob as a command line names it: `lakeshore.slow=200`, or `all.slow=200`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The organization's id, or `all`.
    pub organization: String,
    /// The knob's name.
    pub name: String,
    /// What it is turned to.
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
            // What is no JSON is a text, so that `malformed=html` needs no quotes.
            value: serde_json::from_str(value).unwrap_or_else(|_| value.into()),
        })
    }
}

/// What an organization was asked so far.
#[derive(Debug, Default)]
pub(in crate::sandbox::payer) struct Counts {
    pub(in crate::sandbox::payer) fhir: AtomicU64,
    pub(in crate::sandbox::payer) pages: AtomicU64,
    pub(in crate::sandbox::payer) token: AtomicU64,
    at_once: AtomicU64,
    most_at_once: AtomicU64,
}

/// A FHIR request in flight.
pub(in crate::sandbox::payer) struct InFlight<'c>(&'c Counts);

impl Counts {
    /// Counts a FHIR request as long as it is in flight.
    pub(in crate::sandbox::payer) fn enter(&self) -> InFlight<'_> {
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        InFlight(self)
    }

    /// As a test reads them.
    pub(in crate::sandbox::payer) fn to_json(&self) -> Value {
        serde_json::json!({
            "fhir": self.fhir.load(Ordering::SeqCst),
            "pages": self.pages.load(Ordering::SeqCst),
            "token": self.token.load(Ordering::SeqCst),
            "most_at_once": self.most_at_once.load(Ordering::SeqCst),
        })
    }

    /// Begins again.
    pub(in crate::sandbox::payer) fn reset(&self) {
        for count in [&self.fhir, &self.pages, &self.token, &self.most_at_once] {
            count.store(0, Ordering::SeqCst);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.at_once.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts one more and says whether it is an `every`th one.
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
