//! Sections about allergies, problems, family history and flags.

use super::super::cells::{cell, chosen, concepts, day, joined, notes, plain, references};
use super::super::resource::Resource;
use super::section::{Section, Table};
use crate::patient::words;

pub(in crate::patient::pdf) const ALLERGIES: Section = Section {
    title: "Allergies",
    tables: &[Table {
        title: "Allergies",
        takes: |resource| resource.type_name == "AllergyIntolerance",
        columns: &[
            ("Substance", 4.0),
            ("Reaction", 4.0),
            ("Criticality", 2.0),
            ("Status", 3.0),
            ("Since", 2.0),
        ],
        dates: &["recordedDate", "onsetDateTime"],
        rows: allergy,
    }],
};

const CONDITIONS: &[(&str, f32)] = &[
    ("Problem", 5.0),
    ("Category", 2.5),
    ("Status", 2.5),
    ("Since", 2.0),
    ("Until", 2.0),
    ("Recorded", 2.0),
];

pub(in crate::patient::pdf) const ACTIVE: Section = Section {
    title: "Active Problems",
    tables: &[Table {
        title: "Active problems",
        takes: |resource| resource.type_name == "Condition" && !is_past(resource),
        columns: CONDITIONS,
        dates: &["onsetDateTime", "onsetPeriod", "recordedDate"],
        rows: condition,
    }],
};

pub(in crate::patient::pdf) const PAST_ILLNESS: Section = Section {
    title: "History of Past Illness",
    tables: &[Table {
        title: "Past illness",
        takes: |resource| resource.type_name == "Condition" && is_past(resource),
        columns: CONDITIONS,
        dates: &["onsetDateTime", "onsetPeriod", "recordedDate"],
        rows: condition,
    }],
};

pub(in crate::patient::pdf) const FAMILY_HISTORY: Section = Section {
    title: "Family History",
    tables: &[Table {
        title: "Family history",
        takes: |resource| resource.type_name == "FamilyMemberHistory",
        columns: &[("Relative", 3.0), ("Condition", 5.0), ("Onset", 2.5), ("Note", 4.0)],
        dates: &["date"],
        rows: family,
    }],
};

pub(in crate::patient::pdf) const FLAGS: Section = Section {
    title: "Flags & Alerts",
    tables: &[Table {
        title: "Flags and alerts",
        takes: |resource| resource.type_name == "Flag",
        columns: &[
            ("Flag", 5.0),
            ("Category", 3.0),
            ("Status", 2.0),
            ("Period", 3.0),
            ("Author", 3.0),
        ],
        dates: &["period"],
        rows: |resource| {
            vec![vec![
                concepts(resource, "code"),
                concepts(resource, "category"),
                plain(resource, "status"),
                day(resource, &["period"]),
                references(resource, resource.get("author")),
            ]]
        },
    }],
};

fn is_past(resource: &Resource<'_>) -> bool {
    resource.has("clinicalStatus", &["inactive", "resolved", "remission"])
}

fn allergy(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let reactions = resource.get("reaction").into_iter().flat_map(|list| list.items());
    let reactions = reactions.filter_map(|reaction| {
        let shown = words::concepts(reaction.get("manifestation"));
        let severity = words::text(reaction.get("severity"));
        let text = words::text(reaction.get("description"));
        words::join([shown, severity, text].into_iter().flatten(), ", ")
    });
    let status = [
        concepts(resource, "clinicalStatus"),
        concepts(resource, "verificationStatus"),
    ];
    vec![vec![
        concepts(resource, "code"),
        joined(&[cell(words::join(reactions, "; ")), notes(resource)], ". "),
        plain(resource, "criticality"),
        joined(&status, ", "),
        joined(
            &[chosen(resource, "onset"), day(resource, &["recordedDate"])],
            ", recorded ",
        ),
    ]]
}

fn condition(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let status = [
        concepts(resource, "clinicalStatus"),
        concepts(resource, "verificationStatus"),
    ];
    let severity = concepts(resource, "severity");
    vec![vec![
        joined(
            &[
                concepts(resource, "code"),
                severity,
                concepts(resource, "bodySite"),
                notes(resource),
            ],
            ", ",
        ),
        concepts(resource, "category"),
        joined(&status, ", "),
        chosen(resource, "onset"),
        chosen(resource, "abatement"),
        day(resource, &["recordedDate"]),
    ]]
}

fn family(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let relative = joined(&[concepts(resource, "relationship"), plain(resource, "name")], ", ");
    let conditions = resource.get("condition").into_iter().flat_map(|list| list.items());
    let rows: Vec<Vec<String>> = conditions
        .map(|condition| {
            let code = cell(condition.get("code").and_then(words::concept));
            let outcome = cell(condition.get("outcome").and_then(words::concept));
            let onset = cell(words::chosen(condition, "onset"));
            vec![relative.clone(), joined(&[code, outcome], ", "), onset, notes(resource)]
        })
        .collect();
    if rows.is_empty() {
        return vec![vec![
            relative,
            plain(resource, "status"),
            chosen(resource, "deceased"),
            notes(resource),
        ]];
    }
    rows
}
