//! Sections about medications, plans, goals and orders.

use super::super::cells::{cell, chosen, concepts, day, joined, notes, plain, references};
use super::super::narrative::plain as plain_text;
use super::super::resource::Resource;
use super::section::{Section, Table};
use crate::patient::words;

const MEDICATION: &[(&str, f32)] = &[
    ("Medication", 5.0),
    ("Dosage", 4.0),
    ("Quantity", 2.0),
    ("Status", 2.0),
    ("Date", 2.5),
    ("By", 3.0),
];

const fn medication(
    title: &'static str,
    takes: fn(&Resource<'_>) -> bool,
    dates: &'static [&'static str],
    rows: fn(&Resource<'_>) -> Vec<Vec<String>>,
) -> Table {
    Table {
        title,
        takes,
        columns: MEDICATION,
        dates,
        rows,
    }
}

pub(in crate::patient::pdf) const MEDICATIONS: Section = Section {
    title: "Medications",
    tables: &[
        medication(
            "Prescriptions",
            |resource| resource.type_name == "MedicationRequest",
            &["authoredOn"],
            |resource| {
                let supply = resource.get("dispenseRequest");
                let quantity = supply
                    .and_then(|supply| supply.get("quantity"))
                    .and_then(words::quantity);
                let repeats = supply
                    .and_then(|supply| supply.get("numberOfRepeatsAllowed"))
                    .and_then(|number| number.number());
                let repeats = repeats.map(|number| format!("{number} refills"));
                let quantity = joined(&[cell(quantity), cell(repeats)], ", ");
                row(
                    resource,
                    "dosageInstruction",
                    quantity,
                    day(resource, &["authoredOn"]),
                    references(resource, resource.get("requester")),
                )
            },
        ),
        medication(
            "Medications dispensed",
            |resource| resource.type_name == "MedicationDispense",
            &["whenHandedOver", "whenPrepared"],
            |resource| {
                let days = resource
                    .get("daysSupply")
                    .and_then(words::quantity)
                    .map(|days| format!("for {days}"));
                let quantity = resource.get("quantity").and_then(words::quantity);
                let quantity = joined(&[cell(quantity), cell(days)], ", ");
                let performers = super::super::cells::references_in(resource, "performer", "actor");
                row(
                    resource,
                    "dosageInstruction",
                    quantity,
                    day(resource, &["whenHandedOver", "whenPrepared"]),
                    performers,
                )
            },
        ),
        medication(
            "Medications as stated",
            |resource| resource.type_name == "MedicationStatement",
            &["effectiveDateTime", "effectivePeriod", "dateAsserted"],
            |resource| {
                let when = day(resource, &["effectiveDateTime", "effectivePeriod", "dateAsserted"]);
                row(
                    resource,
                    "dosage",
                    String::new(),
                    when,
                    references(resource, resource.get("informationSource")),
                )
            },
        ),
        medication(
            "Medications administered",
            |resource| resource.type_name == "MedicationAdministration",
            &["effectiveDateTime", "effectivePeriod"],
            |resource| {
                let dose = resource
                    .get("dosage")
                    .and_then(|dosage| dosage.get("dose"))
                    .and_then(words::quantity);
                let when = day(resource, &["effectiveDateTime", "effectivePeriod"]);
                let performers = super::super::cells::references_in(resource, "performer", "actor");
                row(resource, "dosage", cell(dose), when, performers)
            },
        ),
    ],
};

pub(in crate::patient::pdf) const CARE_PLAN: Section = Section {
    title: "Care Plan",
    tables: &[Table {
        title: "Care plans",
        takes: |resource| resource.type_name == "CarePlan",
        columns: &[("Plan", 4.0), ("Activities", 6.0), ("Status", 2.0), ("Period", 3.0)],
        dates: &["period", "created"],
        rows: |resource| {
            let items = resource.get("activity").into_iter().flat_map(|list| list.items());
            let activities = items.filter_map(|activity| {
                let detail = activity.get("detail");
                let named = detail.and_then(|detail| words::concept(detail.get("code")?));
                let text = detail.and_then(|detail| words::text(detail.get("description")));
                words::join([named, text].into_iter().flatten(), ": ")
                    .or_else(|| Some(references(resource, activity.get("reference"))).filter(|text| !text.is_empty()))
            });
            let description = plain(resource, "description");
            let mut activities = cell(words::join(activities, "; "));
            if activities.is_empty() && description.is_empty() {
                activities = narrative(resource);
            }
            let name = [plain(resource, "title"), concepts(resource, "category"), description];
            vec![vec![
                joined(&name, ", "),
                joined(&[activities, notes(resource)], ". "),
                plain(resource, "status"),
                day(resource, &["period", "created"]),
            ]]
        },
    }],
};

pub(in crate::patient::pdf) const GOALS: Section = Section {
    title: "Goals",
    tables: &[Table {
        title: "Goals",
        takes: |resource| resource.type_name == "Goal",
        columns: &[("Goal", 5.0), ("Targets", 4.0), ("Status", 3.0), ("Since", 2.0)],
        dates: &["startDate", "statusDate"],
        rows: |resource| {
            let targets = resource.get("target").into_iter().flat_map(|list| list.items());
            let targets = targets.filter_map(|target| {
                let measure = target.get("measure").and_then(words::concept);
                words::join(
                    [measure, words::chosen(target, "detail"), words::chosen(target, "due")]
                        .into_iter()
                        .flatten(),
                    " ",
                )
            });
            let description = resource.get("description").and_then(words::concept);
            vec![vec![
                joined(&[cell(description), notes(resource)], ". "),
                cell(words::join(targets, "; ")),
                joined(
                    &[
                        plain(resource, "lifecycleStatus"),
                        concepts(resource, "achievementStatus"),
                    ],
                    ", ",
                ),
                chosen(resource, "start"),
            ]]
        },
    }],
};

pub(in crate::patient::pdf) const ORDERS: Section = Section {
    title: "Orders & Referrals",
    tables: &[Table {
        title: "Orders and referrals",
        takes: |resource| resource.type_name == "ServiceRequest",
        columns: &[
            ("Order", 5.0),
            ("Reason", 4.0),
            ("Status", 2.0),
            ("Date", 2.5),
            ("Requester", 3.0),
        ],
        dates: &["authoredOn", "occurrenceDateTime"],
        rows: |resource| {
            vec![vec![
                joined(
                    &[
                        concepts(resource, "code"),
                        concepts(resource, "category"),
                        notes(resource),
                    ],
                    ", ",
                ),
                joined(
                    &[
                        concepts(resource, "reasonCode"),
                        references(resource, resource.get("reasonReference")),
                    ],
                    ", ",
                ),
                plain(resource, "status"),
                day(resource, &["authoredOn", "occurrenceDateTime", "occurrencePeriod"]),
                references(resource, resource.get("requester")),
            ]]
        },
    }],
};

/// Returns the text of the narrative, because some sources write a plan only there.
fn narrative(resource: &Resource<'_>) -> String {
    let text = resource.get("text").and_then(|text| text.get_str("div"));
    text.map(|div| plain_text(&div)).unwrap_or_default()
}

/// Builds the row of a medication resource. `dosage` is the name of the property with the dosage.
fn row(resource: &Resource<'_>, dosage: &str, quantity: String, date: String, by: String) -> Vec<Vec<String>> {
    let reference = references(resource, resource.get("medicationReference"));
    let named = [
        concepts(resource, "medicationCodeableConcept"),
        reference,
        notes(resource),
    ];
    let dosage = resource.get(dosage);
    let told = match dosage {
        Some(one) if one.is_object() => words::text(one.get("text")),
        all => words::dosage(all),
    };
    vec![vec![
        joined(&named, ", "),
        cell(told),
        quantity,
        plain(resource, "status"),
        date,
        by,
    ]]
}
