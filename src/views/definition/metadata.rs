//! Checks the metadata of a ViewDefinition: its name, its status, its author, the profiles that it claims. Metadata
//! changes no row, so most faults here are warnings.

use super::element_path::ElementPath;
use super::finding::Findings;
use super::name::{is_name, no_name};
use super::read::{known, must_be, optional_text, present};
use crate::columns::json::Value;
use crate::fhir::outcome::IssueType;

/// The profiles of ViewDefinition that a definition claims to meet.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::views) struct Claims {
    /// Whether the definition claims to meet ShareableViewDefinition: every column has a type.
    pub(in crate::views) shareable: bool,
    /// Whether the definition claims to meet TabularViewDefinition: no column is a collection.
    pub(in crate::views) tabular: bool,
}

/// The JSON type of a property.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    Object,
    Objects,
    ObjectOrObjects,
    /// Other code checks this property.
    Own,
}

/// All properties of a ViewDefinition, with their JSON types.
const PROPERTIES: [(&str, Form); 42] = [
    ("resourceType", Form::Own),
    ("resourceDefinition", Form::Own),
    ("id", Form::Text),
    ("meta", Form::Object),
    ("implicitRules", Form::Text),
    ("language", Form::Text),
    ("text", Form::Object),
    ("contained", Form::Objects),
    ("extension", Form::Objects),
    ("url", Form::Text),
    ("identifier", Form::ObjectOrObjects),
    ("version", Form::Text),
    ("versionAlgorithmString", Form::Text),
    ("versionAlgorithmCoding", Form::Object),
    ("name", Form::Own),
    ("title", Form::Text),
    ("status", Form::Own),
    ("experimental", Form::Flag),
    ("date", Form::Text),
    ("publisher", Form::Text),
    ("contact", Form::Objects),
    ("description", Form::Text),
    ("useContext", Form::Objects),
    ("jurisdiction", Form::Objects),
    ("purpose", Form::Text),
    ("copyright", Form::Text),
    ("copyrightLabel", Form::Text),
    ("approvalDate", Form::Text),
    ("lastReviewDate", Form::Text),
    ("effectivePeriod", Form::Object),
    ("topic", Form::Objects),
    ("author", Form::Objects),
    ("editor", Form::Objects),
    ("reviewer", Form::Objects),
    ("endorser", Form::Objects),
    ("relatedArtifact", Form::Objects),
    ("resource", Form::Own),
    ("profile", Form::Own),
    ("fhirVersion", Form::Own),
    ("constant", Form::Own),
    ("select", Form::Own),
    ("where", Form::Own),
];

/// The canonical URL of ViewDefinition itself, from the ballot of 3.0 on.
const CANONICAL: &str = "http://hl7.org/fhir/StructureDefinition/ViewDefinition";
/// The canonical URLs of SQL on FHIR's profiles begin with one of these: the first from the ballot of 3.0 on, the
/// second before it.
const BASES: [&str; 2] = [
    "http://hl7.org/fhir/uv/sql-on-fhir/StructureDefinition/",
    "https://sql-on-fhir.org/ig/StructureDefinition/",
];

/// Checks everything that does not affect the rows. Returns the claimed profiles, or `None` if the JSON is not a
/// ViewDefinition.
pub(in crate::views) fn check(findings: &mut Findings, root: Value<'_>, at: &ElementPath<'_>) -> Option<Claims> {
    if !is_view_definition(findings, root, at) {
        return None;
    }
    let names: Vec<&str> = PROPERTIES.iter().map(|(name, _)| *name).collect();
    known(findings, root, at, "a ViewDefinition", &names);
    for (name, form) in PROPERTIES {
        if let Some(value) = present(root, name)
            && let Some(wanted) = form.unmet(value)
        {
            findings.warn(at.property(name), IssueType::Structure, must_be(wanted, value));
        }
    }
    status(findings, root, at);
    fhir_versions(findings, root, at);
    Some(claims(findings, root, at))
}

impl Form {
    /// Returns a description of the expected form if a value does not have it.
    fn unmet(self, value: Value<'_>) -> Option<&'static str> {
        let objects = || value.is_array() && value.items().all(|item| item.is_object());
        let (met, wanted) = match self {
            Form::Text => (value.as_str().is_some(), "a string"),
            Form::Flag => (value.as_bool().is_some(), "true or false"),
            Form::Object => (value.is_object(), "an object"),
            Form::Objects => (objects(), "an array of objects"),
            Form::ObjectOrObjects => (value.is_object() || objects(), "an object or an array of objects"),
            Form::Own => (true, ""),
        };
        (!met).then_some(wanted)
    }
}

fn is_view_definition(findings: &mut Findings, root: Value<'_>, at: &ElementPath<'_>) -> bool {
    let place = at.property("resourceType");
    match present(root, "resourceType") {
        None => {
            let problem = "has no resourceType, and is taken as a ViewDefinition";
            findings.warn(at, IssueType::Required, problem);
        }
        Some(value) => match value.as_str() {
            None => findings.error(place, IssueType::Structure, must_be("a string", value)),
            // Before the ballot of 3.0, ViewDefinition was not a resource, and `resourceType` was the URL of a logical
            // model. So accept both.
            Some(resource_type)
                if resource_type == "ViewDefinition"
                    || resource_type.ends_with("/StructureDefinition/ViewDefinition") => {}
            Some(other) => {
                let problem = format!("is '{other}', not 'ViewDefinition'");
                findings.error(place, IssueType::Value, problem);
                return false;
            }
        },
    }
    if let Some(value) = present(root, "resourceDefinition") {
        let definition = value.as_str().unwrap_or_default();
        if definition.split('|').next() != Some(CANONICAL) {
            let problem = format!("is '{definition}', not '{CANONICAL}'");
            findings.warn(at.property("resourceDefinition"), IssueType::Value, problem);
        }
    }
    true
}

/// Reads the name, which becomes the name of a table or a file.
pub(in crate::views) fn name(findings: &mut Findings, root: Value<'_>, at: &ElementPath<'_>) -> Option<String> {
    let name = optional_text(findings, root, at, "name")?;
    let place = at.property("name");
    if !is_name(&name) {
        let harmless = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | ' ');
        if name.chars().all(harmless) && name.len() <= 255 {
            let problem = format!(
                "'{name}' is no name by the specification, which allows letters, digits and underscores, a letter first"
            );
            findings.warn(place, IssueType::Invariant, problem);
        } else {
            findings.error(place, IssueType::Invariant, no_name(&name))
        }
    }
    Some(name)
}

fn status(findings: &mut Findings, root: Value<'_>, at: &ElementPath<'_>) {
    if present(root, "status").is_none() {
        findings.warn(at, IssueType::Required, "has no status");
        return;
    }
    let Some(status) = optional_text(findings, root, at, "status") else {
        return;
    };
    if !["draft", "active", "retired", "unknown"].contains(&status.as_str()) {
        let problem = format!("'{status}' is no status: draft, active, retired or unknown");
        findings.error(at.property("status"), IssueType::CodeInvalid, problem);
    }
}

fn fhir_versions(findings: &mut Findings, root: Value<'_>, at: &ElementPath<'_>) {
    let place = at.property("fhirVersion");
    let Some(value) = present(root, "fhirVersion") else {
        return;
    };
    // Older drafts had a single version instead of a list. So accept both.
    let versions: Vec<_> = if value.is_array() {
        value.items().collect()
    } else {
        vec![value]
    };
    if versions.iter().any(|version| version.as_str().is_none()) {
        findings.warn(place, IssueType::Structure, must_be("an array of strings", value));
        return;
    }
    let mut texts = versions.iter().filter_map(Value::as_str);
    if !versions.is_empty() && !texts.any(|version| version == "4.0" || version.starts_with("4.0.")) {
        let problem = "does not name R4 (4.0), as which resources are read";
        findings.warn(place, IssueType::Value, problem);
    }
}

fn claims(findings: &mut Findings, root: Value<'_>, at: &ElementPath<'_>) -> Claims {
    let mut claims = Claims::default();
    let profiles = present(root, "meta").and_then(|meta| meta.get("profile"));
    for profile in profiles.into_iter().flat_map(|profiles| profiles.items()) {
        let address = profile.as_str().unwrap_or_default();
        let address = address.split('|').next().unwrap_or_default();
        for name in BASES.into_iter().filter_map(|base| address.strip_prefix(base)) {
            claims.shareable |= name == "ShareableViewDefinition";
            claims.tabular |= name == "TabularViewDefinition";
        }
    }
    if claims.shareable {
        for name in ["url", "name", "fhirVersion"] {
            if present(root, name).is_none() {
                let problem = format!("has no {name}, which ShareableViewDefinition asks for");
                findings.warn(at, IssueType::Required, problem);
            }
        }
    }
    claims
}
