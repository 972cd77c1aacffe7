//! The results of rules: resources, additions, and the records from which each resource was made.

use std::collections::{BTreeMap, BTreeSet};

use super::read::code::coding;
use super::read::party::Directory;
use super::read::text::{Name, Object, quoted};
use crate::fhir::facts;
use crate::normalize::additions::{Addition, Additions, Generated};
use crate::normalize::record::{Source, SourceId};
use crate::normalize::report::Rule;
use crate::normalize::settings::Settings;

/// A record from which a resource is made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    /// The source of the record.
    pub(super) source: SourceId,
    /// The record's type.
    pub(super) resource_type: &'static str,
    /// The record's id.
    pub(super) id: Name,
}

/// What every rule needs to make resources.
pub(super) struct Context<'c> {
    /// The sources, the terminology and the day.
    pub(super) settings: &'c Settings<'c>,
    /// Finds the NPIs of providers.
    pub(super) directory: &'c Directory,
}

impl Context<'_> {
    /// Returns the source with this number, if there is one.
    pub(super) fn source(&self, id: SourceId) -> Option<&Source> {
        self.settings.sources.get(id.0 as usize)
    }

    /// Returns the id of a generated resource. `seed` identifies the resource among those of the same source and type.
    /// Returns `None` if there is no source with this number.
    pub(super) fn id(&self, source: SourceId, resource_type: &str, seed: &str) -> Option<String> {
        let source = self.source(source)?;
        Some((self.settings.ids)(source, resource_type, seed))
    }

    /// Begins a resource with its type, its id and its `meta`: the profile that it meets, the tags of its source, and a
    /// tag for each rule.
    pub(super) fn resource(&self, source: SourceId, resource_type: &str, id: &str, rules: &[Rule]) -> Object {
        let mut tags = Vec::new();
        if let Some(source) = self.source(source) {
            tags.extend(source.tags.iter().cloned());
            let system = format!("{}/GeneratedBy", source.tag_system_base);
            tags.extend(rules.iter().map(|rule| coding(&system, rule.name(), None)));
        }
        let mut resource = Object::new();
        resource.text("resourceType", resource_type).text("id", id);
        let profile = Vec::from_iter(profile(resource_type).map(quoted));
        let meta = Object::new().list("profile", &profile).list("tag", &tags).some();
        resource.maybe("meta", meta);
        resource
    }

    /// Returns the extension that marks an addition of a rule to a source's own record.
    pub(super) fn mark(&self, source: SourceId, rule: Rule) -> String {
        let base = self.source(source).map_or("", |source| &source.tag_system_base);
        Object::new()
            .text("url", &mark_url(base))
            .text("valueCode", rule.name())
            .json()
    }
}

/// Returns the profile of US Core 6.1 that a generated resource meets, even if its claim leaves out facts. An
/// InsurancePlan gets no profile. US Core has none for it. Plan-Net has one, but it requires the plan's networks, and
/// no Coverage states them.
fn profile(resource_type: &str) -> Option<&'static str> {
    Some(match resource_type {
        "Condition" => "http://hl7.org/fhir/us/core/StructureDefinition/us-core-condition-encounter-diagnosis",
        "Encounter" => "http://hl7.org/fhir/us/core/StructureDefinition/us-core-encounter",
        "MedicationRequest" => "http://hl7.org/fhir/us/core/StructureDefinition/us-core-medicationrequest",
        "Procedure" => "http://hl7.org/fhir/us/core/StructureDefinition/us-core-procedure",
        "Provenance" => "http://hl7.org/fhir/us/core/StructureDefinition/us-core-provenance",
        _ => return None,
    })
}

/// Returns the URL of the extension that marks additions of rules.
pub(super) fn mark_url(tag_system_base: &str) -> String {
    format!("{tag_system_base}/StructureDefinition/normalized")
}

/// Collects the generated resources and the additions.
#[derive(Debug, Default)]
pub(super) struct Output {
    generated: Vec<Generated>,
    additions: Additions,
    made: BTreeMap<Origin, BTreeSet<(Rule, String)>>,
}

impl Output {
    /// Adds a resource, and the records from which it was made.
    pub(super) fn make(
        &mut self,
        rule: Rule,
        source: SourceId,
        resource_type: &'static str,
        id: &str,
        json: String,
        origins: impl IntoIterator<Item = Origin>,
    ) {
        let Some(type_id) = facts().lookup(resource_type) else {
            return;
        };
        for origin in origins {
            let target = format!("{resource_type}/{id}");
            self.made.entry(origin).or_default().insert((rule, target));
        }
        self.generated.push(Generated {
            rule,
            resource_type: type_id,
            id: id.to_owned(),
            source,
            json,
        });
    }

    /// Adds an item to a list of a source's own record.
    pub(super) fn add(&mut self, resource_type: &str, id: &str, addition: Addition) {
        let Some(type_id) = facts().lookup(resource_type) else {
            return;
        };
        self.additions
            .entry((type_id, id.to_owned()))
            .or_default()
            .push(addition);
    }

    /// Returns what was made from each record: the rules, with references to the resources.
    pub(super) fn made(&self) -> &BTreeMap<Origin, BTreeSet<(Rule, String)>> {
        &self.made
    }

    /// Returns the resources, sorted by type and id, and the additions. Each id occurs once.
    pub(super) fn finish(mut self) -> (Vec<Generated>, Additions) {
        self.generated
            .sort_by(|a, b| (a.resource_type, &a.id).cmp(&(b.resource_type, &b.id)));
        self.generated
            .dedup_by(|a, b| (a.resource_type, &a.id) == (b.resource_type, &b.id));
        (self.generated, self.additions)
    }
}

/// Returns References to these targets.
pub(super) fn references<'t>(targets: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let reference = |target: &str| format!("{{\"reference\":{}}}", quoted(target));
    targets.into_iter().map(reference).collect()
}
