//! Sections about the patient, the care team and related persons.

use super::super::cells::{address, cell, concepts, contact, day, identifier, joined, notes, plain, references};
use super::super::resource::Resource;
use super::section::{Section, Table};
use crate::columns::json::Value;
use crate::patient::words;

pub(in crate::patient::pdf) const DEMOGRAPHICS: Section = Section {
    title: "Demographics",
    tables: &[Table {
        title: "Patient",
        takes: |resource| resource.type_name == "Patient",
        columns: &[("What", 3.0), ("Value", 9.0)],
        dates: &[],
        rows: patient,
    }],
};

pub(in crate::patient::pdf) const CARE_TEAM: Section = Section {
    title: "Care Team",
    tables: &[Table {
        title: "Care teams",
        takes: |resource| resource.type_name == "CareTeam",
        columns: &[
            ("Team", 3.0),
            ("Member", 4.0),
            ("Role", 3.0),
            ("Reason", 3.0),
            ("Period", 2.5),
            ("Status", 2.0),
        ],
        dates: &["period"],
        rows: care_team,
    }],
};

pub(in crate::patient::pdf) const RELATED_PERSONS: Section = Section {
    title: "Related Persons",
    tables: &[Table {
        title: "Related persons",
        takes: |resource| resource.type_name == "RelatedPerson",
        columns: &[("Name", 4.0), ("Relationship", 3.0), ("Contact", 5.0), ("Born", 2.0)],
        dates: &[],
        rows: |resource| {
            let contacts = [
                listed(resource.get("telecom"), contact),
                listed(resource.get("address"), address),
            ];
            vec![vec![
                listed(resource.get("name"), words::human),
                concepts(resource, "relationship"),
                joined(&contacts, "; "),
                day(resource, &["birthDate"]),
            ]]
        },
    }],
};

/// Joins the texts of a list's items with semicolons, without duplicates.
fn listed(list: Option<Value<'_>>, text: fn(Value<'_>) -> Option<String>) -> String {
    let items = list.into_iter().flat_map(|list| list.items());
    cell(words::join(items.filter_map(text), "; "))
}

fn patient(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let extension = |name: &str| {
        let url = format!("http://hl7.org/fhir/us/core/StructureDefinition/us-core-{name}");
        let all = resource.get("extension").into_iter().flat_map(|list| list.items());
        let mut found = all.filter(|extension| extension.get_str("url").as_deref() == Some(url.as_str()));
        let parts = found.next().and_then(|extension| extension.get("extension"));
        let parts = parts.into_iter().flat_map(|list| list.items());
        cell(words::join(
            parts.filter_map(|part| words::text(part.get("valueString"))),
            ", ",
        ))
    };
    let languages = resource.get("communication").into_iter().flat_map(|list| list.items());
    let languages = languages.filter_map(|each| words::concept(each.get("language")?));
    let contacts = resource.get("contact").into_iter().flat_map(|list| list.items());
    let contacts = contacts.map(|each| {
        let name = cell(each.get("name").and_then(words::human));
        let kin = cell(words::concepts(each.get("relationship")));
        joined(&[name, kin, listed(each.get("telecom"), contact)], ", ")
    });
    let facts = [
        ("Name", listed(resource.get("name"), words::human)),
        ("Born", day(resource, &["birthDate"])),
        ("Gender", plain(resource, "gender")),
        ("Died", cell(words::chosen(resource.json, "deceased"))),
        ("Address", listed(resource.get("address"), address)),
        ("Contact", listed(resource.get("telecom"), contact)),
        ("Identifiers", listed(resource.get("identifier"), identifier)),
        ("Race", extension("race")),
        ("Ethnicity", extension("ethnicity")),
        ("Marital status", concepts(resource, "maritalStatus")),
        ("Languages", cell(words::join(languages, ", "))),
        (
            "Contacts",
            contacts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; "),
        ),
        (
            "General practitioner",
            references(resource, resource.get("generalPractitioner")),
        ),
        (
            "Managing organization",
            references(resource, resource.get("managingOrganization")),
        ),
    ];
    let said = facts.into_iter().filter(|(_, value)| !value.is_empty());
    said.map(|(name, value)| vec![name.to_owned(), value]).collect()
}

fn care_team(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let manager = references(resource, resource.get("managingOrganization"));
    let name = joined(&[plain(resource, "name"), concepts(resource, "category")], ", ");
    // Many sources give teams no name. Such a team gets the name of the organization that manages it.
    let name = if name.is_empty() { manager.clone() } else { name };
    let name = joined(&[name, notes(resource)], ". ");
    let reasons = [
        concepts(resource, "reasonCode"),
        references(resource, resource.get("reasonReference")),
    ];
    let reason = joined(&reasons, ", ");
    let status = plain(resource, "status");
    let period = day(resource, &["period"]);
    let row = |member: String, role: String, period: String| {
        vec![name.clone(), member, role, reason.clone(), period, status.clone()]
    };
    let members = resource.get("participant").into_iter().flat_map(|list| list.items());
    let rows: Vec<Vec<String>> = members
        .map(|member| {
            let role = cell(words::concepts(member.get("role")));
            let own = cell(member.get("period").and_then(words::period));
            let who = ["member", "onBehalfOf"].map(|part| references(resource, member.get(part)));
            row(
                joined(&who, ", "),
                role,
                if own.is_empty() { period.clone() } else { own },
            )
        })
        .collect();
    if rows.is_empty() {
        return vec![row(manager, String::new(), period.clone())];
    }
    rows
}
