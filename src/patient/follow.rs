//! Follows references of records: finds the resource that a reference leads to, and a name for readers.

use super::words;
use crate::columns::json::Value;
use crate::fhir::TypeId;
use crate::fhir::reference::Reference;

/// The records that references can lead to.
pub(super) trait Targets<'t> {
    /// Returns the record that a reference string such as `Patient/1` leads to. `None` if it is not among the records.
    fn find(&self, reference: &str) -> Option<Value<'t>>;
}

/// Returns the type and id in a reference to a resource of this service. `None` for other references. `base` has no
/// trailing slash.
pub(super) fn key<'r>(reference: &'r str, base: &str) -> Option<(TypeId, &'r str)> {
    match Reference::parse(reference) {
        Reference::Relative(target) => Some((target.type_id, target.id)),
        Reference::Absolute { base: own, target } if own == base => Some((target.type_id, target.id)),
        _ => None,
    }
}

/// Returns the resource to which a Reference leads: a contained resource of `owner`, or another record. `owner` is the
/// resource that has the Reference.
pub(super) fn target<'t>(targets: &impl Targets<'t>, owner: Value<'t>, reference: Value<'_>) -> Option<Value<'t>> {
    let address = reference.get_str("reference")?;
    let Some(id) = address.strip_prefix('#') else {
        return targets.find(&address);
    };
    let mut contained = owner.get("contained")?.items();
    contained.find(|each| each.get_str("id").as_deref() == Some(id))
}

/// Returns the text for a Reference: its display or, without one, the name of the resource that it leads to.
pub(super) fn who<'t>(targets: &impl Targets<'t>, owner: Value<'t>, reference: Value<'_>) -> Option<String> {
    let known = || name(targets, owner, target(targets, owner, reference)?);
    words::text(reference.get("display")).or_else(known)
}

/// Returns the name of a resource. A PractitionerRole has the name of its practitioner or, if that is unknown, its own
/// name or that of its organization.
fn name<'t>(targets: &impl Targets<'t>, owner: Value<'t>, resource: Value<'t>) -> Option<String> {
    if resource.get_str("resourceType").as_deref() != Some("PractitionerRole") {
        return words::name(resource);
    }
    // If the role is itself a contained resource, `owner` contains its practitioner, too. So look in the role and in
    // `owner`.
    let found = |reference| target(targets, resource, reference).or_else(|| target(targets, owner, reference));
    let part = |property: &str| {
        let reference = resource.get(property)?;
        words::text(reference.get("display")).or_else(|| words::name(found(reference)?))
    };
    part("practitioner")
        .or_else(|| words::name(resource))
        .or_else(|| part("organization"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;

    /// The records of a JSON list, found by `Type/id`.
    struct Listed<'t>(Value<'t>);

    impl<'t> Targets<'t> for Listed<'t> {
        fn find(&self, reference: &str) -> Option<Value<'t>> {
            let (resource_type, id) = reference.split_once('/')?;
            let is_it = |each: &Value<'_>| {
                each.get_str("resourceType").as_deref() == Some(resource_type)
                    && each.get_str("id").as_deref() == Some(id)
            };
            self.0.items().find(is_it)
        }
    }

    #[test]
    fn a_reference_is_called_by_what_it_leads_to() {
        let records = br#"[{"resourceType":"Practitioner","id":"p","name":[{"text":"Dr. Ruiz"}]},
            {"resourceType":"PractitionerRole","id":"r","practitioner":{"reference":"Practitioner/p"},"code":[{"text":"Doctor"}]},
            {"resourceType":"PractitionerRole","id":"s","practitioner":{"reference":"Practitioner/gone"},"code":[{"text":"Nurse"}]},
            {"resourceType":"Organization","id":"o","name":"Clinic"}]"#;
        let owner = br##"{"contained":[{"resourceType":"Medication","id":"m","code":{"text":"Aspirin"}},
            {"resourceType":"PractitionerRole","id":"role","practitioner":{"reference":"#doctor"}},
            {"resourceType":"Practitioner","id":"doctor","name":[{"family":"Ash"}]}]}"##;
        let (mut tape, mut own) = (Tape::new(), Tape::new());
        let listed = Listed(tape.parse(records).unwrap());
        let owner = own.parse(owner).unwrap();
        let said = |reference: &str| {
            let mut tape = Tape::new();
            who(&listed, owner, tape.parse(reference.as_bytes()).unwrap())
        };
        for (address, name) in [
            ("Organization/o", Some("Clinic")),
            ("PractitionerRole/r", Some("Dr. Ruiz")),
            ("PractitionerRole/s", Some("Nurse")),
            ("#m", Some("Aspirin")),
            ("#role", Some("Ash")),
            ("#gone", None),
            ("Practitioner/gone", None),
        ] {
            assert_eq!(
                said(&format!(r#"{{"reference":"{address}"}}"#)).as_deref(),
                name,
                "{address}"
            );
        }
        let displayed = said(r#"{"reference":"Organization/o","display":"The clinic"}"#);
        assert_eq!(displayed.as_deref(), Some("The clinic"));
    }
}
