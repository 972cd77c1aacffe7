//! Turns the records of a source into rows of one consent, with our own ids and marks of their origin.
//!
//! An id is a UUIDv8 of the consent's owner and a keyed hash of the endpoint, the type and the source's id. So a
//! reference can be rewritten without knowing whether its target exists, and a record that comes again has the same id.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use url::Url;

use super::super::rows::block::RowSource;
use crate::fhir::reference::Target;
use crate::fhir::{TypeId, facts};
use crate::lake::owners::owner::OwnerKey;
use crate::lake::{CONTENT_TAG, Lake, Mode, Sums};

/// The patient of the records, and their source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The owner of the consent's rows.
    pub owner: i64,
    /// The patient authorization from which the records were fetched.
    pub authorization: String,
    /// The endpoint of the directory.
    pub endpoint: String,
    /// The source's FHIR base.
    pub fhir_base: String,
    /// `system` of the identifiers with the source's ids.
    pub identifier_system: String,
    /// The id of the person's Patient at the source.
    pub source_patient: String,
    /// The prefix of our tags' systems, without a trailing slash.
    pub tags: String,
    /// Whether the service made the person's Patient, because the source returns none.
    pub generated_patient: bool,
    /// Fetched attachments by the source's id of their Binary: the address at the source and the SHA-256 of the bytes.
    pub addresses: Arc<BTreeMap<String, (String, String)>>,
}

/// Fetched documents: the bytes of Binaries. The records include these Binaries without bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncedAttachment {
    /// The source's id of the Binary.
    pub source_id: String,
    /// The address at the source.
    pub address: String,
    /// The file with the bytes. It is moved.
    pub bytes: PathBuf,
    /// The length and the digests of the bytes.
    pub sums: Sums,
    /// The value by which the next sync recognizes the bytes.
    pub origin: String,
    /// The number of the attachment in the lake that has the same bytes.
    pub kept: Option<u64>,
}

/// The addresses of attachments, in the form of [`Synced`].
pub fn addresses(attachments: &[SyncedAttachment]) -> Arc<BTreeMap<String, (String, String)>> {
    let digits = |sums: &Sums| sums.sha256.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let one = |one: &SyncedAttachment| (one.source_id.clone(), (one.address.clone(), digits(&one.sums)));
    Arc::new(attachments.iter().map(one).collect())
}

/// The maximum length of a source's id. R4 allows 64.
const LONGEST_ID: usize = 256;

/// Whether a text can be an id at a source. Our own ids replace them, so older forms (underscores, more than 64
/// characters) are accepted. Characters with a meaning in an address are not accepted.
pub(in crate::ingest) fn is_source_id(text: &str) -> bool {
    let admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:|=+@!*,;$()".contains(&byte);
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(admitted)
}

/// The target of a relative reference within a source.
pub fn source_target(text: &str) -> Option<Target<'_>> {
    Target::parse_with(text, is_source_id)
}

/// Gives ids and marks to records.
#[derive(Debug)]
pub(in crate::ingest) struct Naming {
    key: OwnerKey,
    synced: Synced,
    /// `synced.fhir_base` with a trailing slash.
    base: String,
    /// The id of the person's Patient here.
    patient: String,
    /// Our tags, as JSON objects.
    tags: Vec<String>,
}

impl Naming {
    pub(in crate::ingest) fn new(key: OwnerKey, application: &str, mode: Mode, synced: Synced) -> Naming {
        Naming {
            key,
            base: format!("{}/", synced.fhir_base.trim_end_matches('/')),
            patient: key.synced_id(synced.owner, &synced.endpoint, "Patient", &synced.source_patient),
            tags: tags(&synced.tags, &synced.authorization, &synced.endpoint, application, mode),
            synced,
        }
    }

    /// The id of a record.
    pub(in crate::ingest) fn id(&self, type_id: TypeId, id: &str) -> String {
        let Synced { owner, endpoint, .. } = &self.synced;
        self.key.synced_id(*owner, endpoint, facts().get(type_id).name, id)
    }

    /// The authorization of all rows.
    pub(in crate::ingest) fn row_source(&self) -> RowSource {
        RowSource {
            authorization: self.synced.authorization.clone(),
            endpoint: self.synced.endpoint.clone(),
        }
    }

    /// The owner of all rows.
    pub(in crate::ingest) fn owner(&self) -> i64 {
        self.synced.owner
    }

    /// The Patient that all rows are filed under.
    pub(in crate::ingest) fn patient(&self) -> &str {
        &self.patient
    }

    /// Whether a record is filed under another person at the source.
    pub(in crate::ingest) fn is_of_another(&self, patient: &str) -> bool {
        patient != self.synced.source_patient
    }

    /// The Patient of the source that a reference names. It may also name one by an address of the source's host that a
    /// gateway has not rewritten, or by an id that R4 does not allow.
    pub(in crate::ingest) fn patient_of<'t>(&self, reference: &'t str) -> Option<&'t str> {
        let rest = match reference.strip_prefix("Patient/") {
            Some(rest) => rest,
            None => {
                let host = |text: &str| Url::parse(text).ok()?.host_str().map(str::to_owned);
                let at = reference.rfind("/Patient/")?;
                if host(reference)? != host(&self.base)? {
                    return None;
                }
                &reference[at + "/Patient/".len()..]
            }
        };
        rest.split('/').next()
    }

    /// A reference as the source itself would write it: relative, if its target is at the source.
    pub(in crate::ingest) fn local<'t>(&self, reference: &'t str) -> &'t str {
        let relative = reference.strip_prefix(&self.base);
        relative
            .filter(|text| source_target(text).is_some())
            .unwrap_or(reference)
    }

    /// The record's address at the source: its `meta.source`.
    pub(in crate::ingest) fn address(&self, type_id: TypeId, id: &str) -> String {
        if let Some((address, _)) = self.fetched(type_id, id) {
            return address.clone();
        }
        format!("{}{}/{id}", self.base, facts().get(type_id).name)
    }

    /// The identifier with the source's id, as a JSON object.
    pub(in crate::ingest) fn identifier(&self, id: &str) -> String {
        serde_json::json!({"system": self.synced.identifier_system, "value": id}).to_string()
    }

    /// Whether a tag's system is one of ours. A source must not set such a tag.
    pub(in crate::ingest) fn is_our_system(&self, system: &str) -> bool {
        let under = system.strip_prefix(&self.synced.tags);
        under.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Our tags on a record, as JSON objects.
    pub(in crate::ingest) fn tags(&self, type_id: TypeId, id: &str) -> Vec<String> {
        let mut tags = self.tags.clone();
        let is_made = self.synced.generated_patient && id == self.synced.source_patient;
        if is_made && facts().get(type_id).name == "Patient" {
            let system = format!("{}/GeneratedBy", self.synced.tags);
            tags.push(serde_json::json!({"system": system, "code": "patient"}).to_string());
        }
        // Other bytes make another version.
        if let Some((_, sha256)) = self.fetched(type_id, id) {
            let system = format!("{}/{CONTENT_TAG}", self.synced.tags);
            tags.push(serde_json::json!({"system": system, "code": sha256}).to_string());
        }
        tags
    }

    /// The address and the digest of a Binary's fetched bytes.
    fn fetched(&self, type_id: TypeId, id: &str) -> Option<&(String, String)> {
        let fetched = self.synced.addresses.get(id)?;
        (facts().get(type_id).name == "Binary").then_some(fetched)
    }
}

/// The tags of an authorization's rows, as JSON objects.
pub(in crate::ingest) fn tags(
    base: &str,
    authorization: &str,
    endpoint: &str,
    application: &str,
    mode: Mode,
) -> Vec<String> {
    let mode = match mode {
        Mode::Live => "LIVE",
        Mode::Test => "TEST",
    };
    let tag =
        |name: &str, code: &str| serde_json::json!({"system": format!("{base}/{name}"), "code": code}).to_string();
    vec![
        tag("PatientAccessTokenId", authorization),
        tag("EndpointId", endpoint),
        tag("ApplicationId", application),
        tag("PatientAuthorizationMode", mode),
    ]
}

impl Lake {
    /// The id that a source's record gets under a consent's owner.
    pub fn synced_id(&self, owner: i64, endpoint: &str, resource_type: &str, id: &str) -> String {
        self.owner_key().synced_id(owner, endpoint, resource_type, id)
    }
}
