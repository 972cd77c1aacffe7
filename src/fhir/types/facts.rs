//! The R4 type system: resources, data types and backbone elements with their elements in definition order.
//!
//! A backbone element is its own type, named by its path (`Observation.component`). An element with a content reference
//! has the referenced type, so recursion (`Questionnaire.item.item`) is a type that contains itself. This file does not
//! know search parameters (`search_parameter`) nor columns (`storage`).

use rustc_hash::FxHashMap;

pub use super::type_def::{Element, Kind, Primitive, TypeDef, TypeId};
use super::type_table;

/// What the name of a JSON property means in a type.
#[derive(Clone, Copy, Debug)]
pub struct Child<'a> {
    /// The element to which the property belongs.
    pub element: &'a Element,
    /// The type of the property's value. For a choice, it is the type in the property's suffix.
    pub type_id: TypeId,
}

/// All types of R4, with their names and the JSON properties of each type.
#[derive(Debug)]
pub struct Facts {
    types: Vec<TypeDef>,
    names: FxHashMap<&'static str, TypeId>,
    properties: Vec<type_table::Properties>,
    resources: Vec<TypeId>,
}

/// Returns the R4 facts, which are built from the tables in `schemas/` at first use.
pub fn facts() -> &'static Facts {
    static FACTS: std::sync::OnceLock<Facts> = std::sync::OnceLock::new();
    FACTS.get_or_init(Facts::read)
}

impl Facts {
    fn read() -> Facts {
        let type_table::Types {
            types,
            names,
            properties,
        } = type_table::read();
        let mut resources: Vec<TypeId> = (0..types.len()).map(TypeId::new).collect();
        resources
            .retain(|type_id| types[type_id.index()].kind == Kind::Resource && !types[type_id.index()].is_abstract);
        resources.sort_unstable_by_key(|type_id| types[type_id.index()].name);
        Facts {
            types,
            names,
            properties,
            resources,
        }
    }

    /// Returns the type with this name (`Patient`, `string`, `Observation.component`).
    pub fn lookup(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// Returns the definition of a type.
    pub fn get(&self, type_id: TypeId) -> &TypeDef {
        &self.types[type_id.index()]
    }

    /// Returns the meaning of the JSON property `name` in `type_id` (`valueQuantity` is the element `value` as a
    /// Quantity). `None` if R4 does not define it. The caller strips a leading `_`.
    pub fn child(&self, type_id: TypeId, name: &str) -> Option<Child<'_>> {
        let (element, child) = *self.properties[type_id.index()].get(name)?;
        Some(Child {
            element: &self.types[type_id.index()].elements[usize::from(element)],
            type_id: child,
        })
    }

    /// Returns the element with the FHIRPath name `name` (`value` for `value[x]`).
    pub fn element(&self, type_id: TypeId, name: &str) -> Option<&Element> {
        self.get(type_id).elements.iter().find(|element| element.name == name)
    }

    /// Whether `type_id` is `ancestor` or specializes it, directly or through other types (`Age` is a `Quantity`,
    /// `code` a `string`).
    pub fn is_a(&self, type_id: TypeId, ancestor: TypeId) -> bool {
        type_id == ancestor || self.get(type_id).base.is_some_and(|base| self.is_a(base, ancestor))
    }

    /// Returns the concrete resource types, sorted by name.
    pub fn resources(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.resources.iter().copied()
    }

    /// Returns every type, in the order of [`TypeId::index`].
    pub fn types(&self) -> impl Iterator<Item = TypeId> + '_ {
        (0..self.len()).map(TypeId::new)
    }

    /// Returns the type with this [`TypeId::index`].
    pub fn type_at(&self, index: usize) -> Option<TypeId> {
        (index < self.len()).then(|| TypeId::new(index))
    }

    /// Returns the number of types: one more than the greatest [`TypeId::index`].
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.types.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_named(name: &str) -> TypeId {
        facts().lookup(name).unwrap_or_else(|| panic!("no type {name}"))
    }

    fn names(types: &[TypeId]) -> Vec<&'static str> {
        types.iter().map(|type_id| facts().get(*type_id).name).collect()
    }

    #[test]
    fn the_table_holds_r4() {
        let facts = facts();
        let count = |kind: fn(Kind) -> bool| facts.types().filter(|type_id| kind(facts.get(*type_id).kind)).count();
        assert_eq!(count(|kind| matches!(kind, Kind::Primitive(_))), 20);
        assert_eq!(count(|kind| kind == Kind::Complex), 41);
        assert_eq!(count(|kind| kind == Kind::Resource), 148);
        assert_eq!(facts.resources().count(), 146);
        assert!(facts.resources().is_sorted_by_key(|type_id| facts.get(type_id).name));
        assert_eq!(facts.len(), facts.types().count());
        for absent in [
            "SubscriptionStatus",
            "MetadataResource",
            "SimpleQuantity",
            "DeviceDefinition.classification",
            "",
        ] {
            assert_eq!(facts.lookup(absent), None, "{absent}");
        }
    }

    #[test]
    fn codes_know_their_system() {
        let system = |owner: &str, name: &str| facts().element(type_named(owner), name).unwrap().code_system;
        assert_eq!(
            system("Patient", "gender"),
            Some("http://hl7.org/fhir/administrative-gender")
        );
        assert_eq!(
            system("Observation", "status"),
            Some("http://hl7.org/fhir/observation-status")
        );
        assert_eq!(system("Attachment", "contentType"), Some("urn:ietf:bcp:13"));
        // Three elements without a system: the binding of the first is only preferred, the second is no code, and the
        // value set of the third uses several systems.
        assert_eq!(system("Patient", "language"), None);
        assert_eq!(system("Patient", "maritalStatus"), None);
        assert_eq!(system("Timing.repeat", "when"), None);
        let code = type_named("code");
        let elements = facts().types().flat_map(|type_id| &facts().get(type_id).elements);
        let with_system: Vec<&Element> = elements.filter(|element| element.code_system.is_some()).collect();
        assert!(with_system.len() > 300);
        assert!(with_system.iter().all(|element| element.types == [code]));
        let has_unknown = |owner: &str, name: &str| facts().element(type_named(owner), name).unwrap().has_unknown;
        assert!(has_unknown("Observation", "status") && has_unknown("Encounter", "status"));
        assert!(has_unknown("Patient", "gender"));
        assert!(!has_unknown("Claim", "status") && !has_unknown("Narrative", "status"));
    }

    #[test]
    fn additions_to_r4_are_left_out() {
        for (owner, property) in [
            ("Meta", "project"),
            ("Meta", "account"),
            ("Binary", "url"),
            ("ResearchStudy", "name"),
            ("DeviceDefinition", "bodySite"),
            ("EvidenceVariable.characteristic", "definitionId"),
            ("ObservationDefinition", "publisher"),
        ] {
            assert!(
                facts().child(type_named(owner), property).is_none(),
                "{owner}.{property}"
            );
        }
        assert!(
            facts()
                .child(type_named("EvidenceVariable.characteristic"), "definitionCanonical")
                .is_some()
        );
        assert!(
            facts()
                .child(type_named("EvidenceVariable.characteristic"), "groupMeasure")
                .is_some()
        );
    }

    #[test]
    fn properties_lead_to_their_types() {
        for (owner, property, expected) in [
            ("Patient", "id", "id"),
            ("Patient", "birthDate", "date"),
            ("Patient", "contact", "Patient.contact"),
            ("Patient.contact", "id", "string"),
            ("Patient.contact", "modifierExtension", "Extension"),
            ("Patient", "contained", "Resource"),
            ("HumanName", "given", "string"),
            ("string", "extension", "Extension"),
            ("date", "id", "string"),
            ("xhtml", "id", "string"),
            ("Extension", "url", "uri"),
            ("Extension", "valueAge", "Age"),
            ("Extension", "valueBase64Binary", "base64Binary"),
            ("Age", "value", "decimal"),
            ("Narrative", "div", "xhtml"),
            ("Observation", "valueQuantity", "Quantity"),
            ("Observation", "effectiveInstant", "instant"),
            ("Observation.component", "referenceRange", "Observation.referenceRange"),
            ("Questionnaire.item", "item", "Questionnaire.item"),
            ("Bundle.entry", "resource", "Resource"),
            ("Bundle.entry.response", "outcome", "Resource"),
            ("Timing", "repeat", "Timing.repeat"),
            ("Timing.repeat", "boundsPeriod", "Period"),
            ("MedicationRequest", "dosageInstruction", "Dosage"),
            ("Dosage.doseAndRate", "doseQuantity", "Quantity"),
        ] {
            let child = facts()
                .child(type_named(owner), property)
                .unwrap_or_else(|| panic!("{owner}.{property}"));
            assert_eq!(facts().get(child.type_id).name, expected, "{owner}.{property}");
        }
        for (owner, property) in [
            ("Observation", "value"),
            ("Observation", "value[x]"),
            ("Observation", "valueMoney"),
            ("Observation", "_status"),
            ("Observation", ""),
            ("xhtml", "extension"),
            ("string", "value"),
            ("Timing.repeat", "modifierExtension"),
        ] {
            assert!(
                facts().child(type_named(owner), property).is_none(),
                "{owner}.{property}"
            );
        }
    }

    #[test]
    fn elements_carry_their_definition() {
        let observation = facts().get(type_named("Observation"));
        assert_eq!(
            observation
                .elements
                .iter()
                .take(10)
                .map(|element| element.name)
                .collect::<Vec<_>>(),
            [
                "id",
                "meta",
                "implicitRules",
                "language",
                "text",
                "contained",
                "extension",
                "modifierExtension",
                "identifier",
                "basedOn"
            ]
        );
        let value = facts().element(type_named("Observation"), "value").unwrap();
        assert!(value.choice && value.summary && !value.many && !value.modifier && value.min == 0);
        assert_eq!(value.types.len(), 11);
        let status = facts().element(type_named("Observation"), "status").unwrap();
        assert!(status.modifier && status.min == 1);
        let subject = facts().element(type_named("Observation"), "subject").unwrap();
        let mut targets = names(&subject.targets);
        targets.sort_unstable();
        assert_eq!(targets, ["Device", "Group", "Location", "Patient"]);
        assert!(
            facts()
                .element(type_named("Extension"), "value")
                .unwrap()
                .targets
                .is_empty()
        );
        for id in facts().types() {
            for (at, element) in facts().get(id).elements.iter().enumerate() {
                assert_eq!(usize::from(element.ordinal), at + 1);
                assert!(!element.types.is_empty());
                assert!(
                    element.choice || element.types.len() == 1,
                    "{} {}",
                    facts().get(id).name,
                    element.name
                );
            }
        }
    }

    #[test]
    fn specialization_is_followed() {
        let is_a = |one, other| facts().is_a(type_named(one), type_named(other));
        assert!(is_a("Age", "Quantity") && is_a("Age", "Element") && is_a("code", "string") && is_a("url", "uri"));
        assert!(is_a("Patient", "DomainResource") && is_a("Patient", "Resource") && is_a("Binary", "Resource"));
        assert!(is_a("Patient.contact", "BackboneElement") && is_a("Timing.repeat", "Element"));
        assert!(
            !is_a("Binary", "DomainResource") && !is_a("Quantity", "Age") && !is_a("Timing.repeat", "BackboneElement")
        );
    }
}
