//! The resources that a summary adds: the authors and the custodian, the resource with the PDF, and resources that
//! refer to records which a section may not have as its own entries.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::super::json::{UNKNOWN, concept, quoted, reference};
use super::complete::PROFILES;
use crate::patient::concept::LOINC;

/// LOINC's code and display for a patient summary.
pub(super) const SUMMARY: (&str, &str) = ("60591-5", "Patient summary Document");

/// Knows the names of the endpoints that sent the records.
pub trait Directory: std::fmt::Debug + Sync {
    /// Returns the display name of the organization behind an endpoint, if it is known.
    fn name(&self, endpoint: &str) -> Option<String>;
}

/// A directory without endpoints, for imported records, whose source is not known.
impl Directory for () {
    fn name(&self, _: &str) -> Option<String> {
        None
    }
}

/// The summary as a PDF, which the caller made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendering {
    /// The bytes of the PDF file.
    pub pdf: Vec<u8>,
    /// The title of the PDF document.
    pub title: String,
}

/// A resource that the summary adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// The `fullUrl`, a URN.
    pub(super) full_url: String,
    /// The JSON text.
    pub(super) text: String,
}

/// Computes a UUID as a hash of names. Equal names give an equal UUID.
pub(super) fn uuid(names: &[&str]) -> String {
    let mut hash = Sha256::new();
    for name in names {
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

/// Returns the URN of a UUID.
pub(super) fn urn(uuid: &str) -> String {
    format!("urn:uuid:{uuid}")
}

impl Made {
    /// Builds a resource. `profile` is the last part of an IPS profile's URL. `tag` is the system of the resource's
    /// tag; if it is empty, the resource has no tag. `rest` has the other properties as JSON.
    fn new(resource_type: &str, id: &str, profile: Option<&str>, tag: &str, rest: &str) -> Made {
        let profile = profile.map(|name| format!(r#""profile":["{PROFILES}{name}"]"#));
        let tag = (!tag.is_empty()).then(|| format!(r#""tag":[{{"system":{},"code":"summary"}}]"#, quoted(tag)));
        let meta: Vec<String> = profile.into_iter().chain(tag).collect();
        let meta = if meta.is_empty() {
            String::new()
        } else {
            format!(r#""meta":{{{}}},"#, meta.join(","))
        };
        Made {
            full_url: urn(id),
            text: format!(r#"{{"resourceType":"{resource_type}","id":"{id}",{meta}{rest}}}"#),
        }
    }

    /// Builds the Device that stands for the service as the document's first author.
    pub(super) fn service(base_url: &str) -> Made {
        let identifier = format!(
            r#""identifier":[{{"system":"urn:ietf:rfc:3986","value":{}}}]"#,
            quoted(base_url)
        );
        let version = env!("CARGO_PKG_VERSION");
        let name = r#""deviceName":[{"name":"Tabularium","type":"user-friendly-name"}]"#;
        let rest = format!(r#"{identifier},"status":"active",{name},"version":[{{"value":"{version}"}}]"#);
        let id = uuid(&[base_url, "Device"]);
        Made::new("Device", &id, Some("Device-observer-uv-ips"), "", &rest)
    }

    /// Builds the custodian of the document: an Organization for the service at its address.
    pub(super) fn custodian(base_url: &str) -> Made {
        let host = base_url.split_once("://").map_or(base_url, |(_, host)| host);
        let rest = format!(
            r#""identifier":[{{"system":"urn:ietf:rfc:3986","value":{}}}],"name":{}"#,
            quoted(base_url),
            quoted(&format!("Records service at {host}"))
        );
        let id = uuid(&[base_url, "Organization"]);
        Made::new("Organization", &id, Some("Organization-uv-ips"), "", &rest)
    }

    /// Builds the Organization that stands for a source. It is one of the document's authors.
    pub(super) fn source(base_url: &str, endpoint: &str, name: &str) -> Made {
        let rest = format!(
            r#""identifier":[{{"system":{},"value":{}}}],"name":{}"#,
            quoted(&format!("{base_url}/tags/EndpointId")),
            quoted(endpoint),
            quoted(name)
        );
        let id = uuid(&[base_url, "Organization", endpoint]);
        Made::new("Organization", &id, Some("Organization-uv-ips"), "", &rest)
    }
}

/// Builds the resources that refer to goals, devices and findings, and the resource with the PDF, for one patient's
/// document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder<'h> {
    /// The base URL of the service.
    pub(super) base_url: &'h str,
    /// The `fullUrl` of the Patient.
    pub(super) patient: &'h str,
    /// The date and time of the document.
    pub(super) date: &'h str,
}

impl Holder<'_> {
    /// Builds a DeviceUseStatement that refers to a device. It marks the time of use as unknown.
    pub(super) fn device(&self, device: &str) -> Made {
        let rest = format!(
            r#""status":"active","subject":{},"_timingDateTime":{{"extension":[{UNKNOWN}]}},"device":{}"#,
            reference(self.patient),
            reference(device)
        );
        self.make("DeviceUseStatement", Some("DeviceUseStatement-uv-ips"), device, &rest)
    }

    /// Builds a CarePlan for goals that belong to no plan.
    pub(super) fn goals(&self, goals: &[String]) -> Made {
        let rest = format!(
            r#""status":"active","intent":"plan","title":"Goals","subject":{},"goal":[{}]"#,
            reference(self.patient),
            references(goals)
        );
        self.make("CarePlan", None, "goals", &rest)
    }

    /// Builds a ClinicalImpression that refers to findings.
    pub(super) fn findings(&self, findings: &[String]) -> Made {
        let items: Vec<String> = findings
            .iter()
            .map(|finding| format!(r#"{{"itemReference":{}}}"#, reference(finding)))
            .collect();
        let rest = format!(
            r#""status":"completed","code":{{"text":"Functional status"}},"subject":{},"date":{},"finding":[{}]"#,
            reference(self.patient),
            quoted(self.date),
            items.join(",")
        );
        self.make("ClinicalImpression", None, "findings", &rest)
    }

    /// Builds a DocumentReference that contains the document as a PDF.
    pub(super) fn rendering(&self, composition: &str, author: &str, rendering: &Rendering) -> Made {
        let (code, display) = SUMMARY;
        let attachment = format!(
            r#"{{"contentType":"application/pdf","data":"{}","size":{},"title":{},"creation":{}}}"#,
            STANDARD.encode(&rendering.pdf),
            rendering.pdf.len(),
            quoted(&rendering.title),
            quoted(self.date)
        );
        let rest = format!(
            concat!(
                r#""status":"current","type":{},"subject":{},"date":{},"author":[{}],"#,
                r#""content":[{{"attachment":{}}}],"context":{{"related":[{}]}}"#,
            ),
            concept(LOINC, code, display),
            reference(self.patient),
            quoted(self.date),
            reference(author),
            attachment,
            reference(composition)
        );
        self.make("DocumentReference", None, composition, &rest)
    }

    fn make(&self, resource_type: &str, profile: Option<&str>, key: &str, rest: &str) -> Made {
        let id = uuid(&[self.base_url, self.patient, resource_type, key]);
        let tag = format!("{}/tags/GeneratedBy", self.base_url);
        Made::new(resource_type, &id, profile, &tag, rest)
    }
}

fn references(addresses: &[String]) -> String {
    let list: Vec<String> = addresses.iter().map(|address| reference(address)).collect();
    list.join(",")
}
