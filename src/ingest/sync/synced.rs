//! Turns the records of a source into rows of one consent, with our own ids, and with tags and other properties that
//! show their origin.
//!
//! An id is a UUIDv8. It consists of the consent's owner and a keyed hash of the endpoint, the type and the source's
//! id. So a reference can be rewritten even if its target is not known. A record that comes again has the same id.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::super::rows::block::RowSource;
use super::base::SourceBase;
use crate::fhir::reference::Target;
use crate::fhir::{TypeId, facts};
use crate::lake::owners::owner::OwnerKey;
use crate::lake::{CONTENT_TAG, Lake, Mode, Sums};

/// The source of synced records, and the person to whom they belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The owner of the consent's rows.
    pub owner: i64,
    /// The authorization with which the records were fetched.
    pub authorization: String,
    /// The id of the endpoint in the directory.
    pub endpoint: String,
    /// The source's FHIR base, in all its forms.
    pub base: SourceBase,
    /// The `system` of the identifiers that have the source's ids.
    pub identifier_system: String,
    /// The id of the person's Patient at the source.
    pub source_patient: String,
    /// The id that the source itself writes for this Patient, if it is another one.
    pub alias: Option<String>,
    /// The ids of further Patients that the source links to the person's Patient.
    pub linked: BTreeSet<String>,
    /// The prefix of our tags' systems, without a trailing slash.
    pub tags: String,
    /// Whether the service made the person's Patient, because the source returns none.
    pub generated_patient: bool,
    /// The address at the source and the SHA-256 (in hexadecimal) of each fetched attachment, by the source's id of its
    /// Binary.
    pub addresses: Arc<BTreeMap<String, (String, String)>>,
}

/// A fetched document: the bytes of a Binary. The records include the Binary without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncedAttachment {
    /// The source's id of the Binary.
    pub source_id: String,
    /// The address of the bytes at the source.
    pub address: String,
    /// The file with the bytes. The lake moves it to its own folder.
    pub bytes: PathBuf,
    /// The length and the digests of the bytes.
    pub sums: Sums,
    /// A digest of how the records describe the attachment. If the next sync computes the same digest, it counts the
    /// attachment as unchanged.
    pub origin: String,
    /// The number of an attachment in the lake with the same bytes. If it is set, the bytes are not stored again.
    pub kept: Option<u64>,
}

/// Returns the addresses of attachments for [`Synced::addresses`].
pub fn addresses(attachments: &[SyncedAttachment]) -> Arc<BTreeMap<String, (String, String)>> {
    let digits = |sums: &Sums| sums.sha256.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let one = |one: &SyncedAttachment| (one.source_id.clone(), (one.address.clone(), digits(&one.sums)));
    Arc::new(attachments.iter().map(one).collect())
}

/// The maximum length of a source's id in bytes. R4 allows 64.
const LONGEST_ID: usize = 256;

/// Whether a text is accepted as an id at a source. The lake stores an id of ours instead, so more forms than R4's are
/// accepted: up to 256 characters, and some punctuation. Characters that would change the meaning of an address, such
/// as `/` and `?`, are refused.
pub(in crate::ingest) fn is_source_id(text: &str) -> bool {
    let admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:|=+@!*,;$()".contains(&byte);
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(admitted)
}

/// Parses a relative reference to a record of a source.
pub fn source_target(text: &str) -> Option<Target<'_>> {
    Target::parse_with(text, is_source_id)
}

/// Computes the ids and the tags of a sync's records, and their other properties that show the origin.
#[derive(Debug)]
pub(in crate::ingest) struct Naming {
    key: OwnerKey,
    synced: Synced,
    /// The id of the person's Patient in the lake.
    patient: String,
    /// Our tags on every record, as JSON objects.
    tags: Vec<String>,
}

impl Naming {
    pub(in crate::ingest) fn new(key: OwnerKey, application: &str, mode: Mode, synced: Synced) -> Naming {
        Naming {
            key,
            patient: key.synced_id(synced.owner, &synced.endpoint, "Patient", &synced.source_patient),
            tags: tags(&synced.tags, &synced.authorization, &synced.endpoint, application, mode),
            synced,
        }
    }

    /// Returns the id in the lake of a record with this id at the source.
    pub(in crate::ingest) fn id(&self, type_id: TypeId, id: &str) -> String {
        let Synced { owner, endpoint, .. } = &self.synced;
        let is_alias = self.synced.alias.as_deref() == Some(id) && facts().get(type_id).name == "Patient";
        let id = if is_alias { &self.synced.source_patient } else { id };
        self.key.synced_id(*owner, endpoint, facts().get(type_id).name, id)
    }

    /// Returns the authorization and the endpoint of all rows.
    pub(in crate::ingest) fn row_source(&self) -> RowSource {
        RowSource {
            authorization: self.synced.authorization.clone(),
            endpoint: self.synced.endpoint.clone(),
        }
    }

    /// Returns the owner of all rows.
    pub(in crate::ingest) fn owner(&self) -> i64 {
        self.synced.owner
    }

    /// Returns the id of the Patient under which all rows are filed.
    pub(in crate::ingest) fn patient(&self) -> &str {
        &self.patient
    }

    /// Whether `patient`, an id at the source, is none of the synced person's ids.
    pub(in crate::ingest) fn is_of_another(&self, patient: &str) -> bool {
        let Synced {
            source_patient,
            alias,
            linked,
            ..
        } = &self.synced;
        patient != source_patient && alias.as_deref() != Some(patient) && !linked.contains(patient)
    }

    /// Returns the source's id of the Patient that a reference leads to, or `None` for any other reference. The
    /// reference may be an address on any host, because gateways leave addresses of their own unchanged. The id may
    /// have a form that R4 does not allow.
    pub(in crate::ingest) fn patient_of<'t>(&self, reference: &'t str) -> Option<&'t str> {
        let rest = match reference.strip_prefix("Patient/") {
            Some(rest) => rest,
            None if reference.contains("://") => &reference[reference.rfind("/Patient/")? + "/Patient/".len()..],
            None => return None,
        };
        rest.split('/').next()
    }

    /// Returns the relative form of a reference to an address under the FHIR base of the source. Returns any other
    /// reference unchanged.
    pub(in crate::ingest) fn local<'t>(&self, reference: &'t str) -> &'t str {
        let relative = self.synced.base.relative(reference);
        relative
            .filter(|text| source_target(text).is_some())
            .unwrap_or(reference)
    }

    /// Returns the record's address at the source, for `meta.source`. For a Binary with fetched bytes, this is the
    /// address of the bytes.
    pub(in crate::ingest) fn address(&self, type_id: TypeId, id: &str) -> String {
        if let Some((address, _)) = self.fetched(type_id, id) {
            return address.clone();
        }
        format!("{}{}/{id}", self.synced.base.as_str(), facts().get(type_id).name)
    }

    /// Returns the identifier with the source's id, as a JSON object.
    pub(in crate::ingest) fn identifier(&self, id: &str) -> String {
        serde_json::json!({"system": self.synced.identifier_system, "value": id}).to_string()
    }

    /// Whether a tag's system is one of ours. A source must not set such a tag.
    pub(in crate::ingest) fn is_our_system(&self, system: &str) -> bool {
        let under = system.strip_prefix(&self.synced.tags);
        under.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns our tags on a record, as JSON objects.
    pub(in crate::ingest) fn tags(&self, type_id: TypeId, id: &str) -> Vec<String> {
        let mut tags = self.tags.clone();
        let is_made = self.synced.generated_patient && id == self.synced.source_patient;
        if is_made && facts().get(type_id).name == "Patient" {
            let system = format!("{}/GeneratedBy", self.synced.tags);
            tags.push(serde_json::json!({"system": system, "code": "patient"}).to_string());
        }
        // This tag changes with the bytes, so that the Binary gets a new version.
        if let Some((_, sha256)) = self.fetched(type_id, id) {
            let system = format!("{}/{CONTENT_TAG}", self.synced.tags);
            tags.push(serde_json::json!({"system": system, "code": sha256}).to_string());
        }
        tags
    }

    /// Returns the address and the SHA-256 of a Binary's fetched bytes.
    fn fetched(&self, type_id: TypeId, id: &str) -> Option<&(String, String)> {
        let fetched = self.synced.addresses.get(id)?;
        (facts().get(type_id).name == "Binary").then_some(fetched)
    }
}

/// Returns the tags that all rows of an authorization have, as JSON objects.
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
    /// Returns the id that a source's record gets under a consent's owner.
    pub fn synced_id(&self, owner: i64, endpoint: &str, resource_type: &str, id: &str) -> String {
        self.owner_key().synced_id(owner, endpoint, resource_type, id)
    }
}
