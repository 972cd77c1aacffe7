//! Sections about insurance, claims and payments.

use super::super::cells::{cell, chosen_in, concepts, day, joined, plain, references};
use super::super::resource::Resource;
use super::section::{Section, Table};
use crate::columns::json::Value;
use crate::patient::words;

pub(in crate::patient::pdf) const INSURANCE: Section = Section {
    title: "Insurance",
    tables: &[Table {
        title: "Coverage",
        takes: |resource| resource.type_name == "Coverage",
        columns: &[
            ("Payer", 4.0),
            ("Type", 3.0),
            ("Member", 3.0),
            ("Plan", 4.0),
            ("Period", 3.0),
            ("Status", 2.0),
        ],
        dates: &["period"],
        rows: |resource| {
            let classes = resource.get("class").into_iter().flat_map(|list| list.items());
            let classes = classes.filter_map(|class| {
                let kind = class.get("type").and_then(words::concept);
                let name = words::text(class.get("name")).or_else(|| words::text(class.get("value")));
                words::join([kind, name].into_iter().flatten(), ": ")
            });
            let relationship = concepts(resource, "relationship");
            vec![vec![
                references(resource, resource.get("payor")),
                concepts(resource, "type"),
                joined(
                    &[
                        plain(resource, "subscriberId"),
                        plain(resource, "dependent"),
                        relationship,
                    ],
                    ", ",
                ),
                cell(words::join(classes, "; ")),
                day(resource, &["period"]),
                plain(resource, "status"),
            ]]
        },
    }],
};

pub(in crate::patient::pdf) const CLAIMS: Section = Section {
    title: "Claims",
    tables: &[Table {
        title: "Claims",
        takes: |resource| resource.type_name == "ExplanationOfBenefit",
        columns: &[
            ("Date", 2.2),
            ("Claim", 3.0),
            ("Services and diagnoses", 6.0),
            ("Provider", 3.0),
            ("Amounts", 4.0),
        ],
        dates: &["billablePeriod", "created"],
        rows: claim,
    }],
};

fn claim(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let status = joined(&[plain(resource, "status"), plain(resource, "outcome")], ", ");
    let items = items(resource, "item");
    let services = items.filter_map(|item| {
        let service = item.get("productOrService").and_then(words::concept)?;
        let quantity = item
            .get("quantity")
            .and_then(words::quantity)
            .filter(|quantity| quantity != "1");
        Some(match quantity {
            Some(quantity) => format!("{service} ({quantity})"),
            None => service,
        })
    });
    let diagnoses = self::items(resource, "diagnosis").filter_map(|each| chosen_in(resource, each, "diagnosis"));
    let procedures = self::items(resource, "procedure").filter_map(|each| chosen_in(resource, each, "procedure"));
    let parts = [
        cell(words::join(services, "; ")),
        cell(words::join(diagnoses, "; ").map(|text| format!("Diagnoses: {text}"))),
        cell(words::join(procedures, "; ").map(|text| format!("Procedures: {text}"))),
    ];
    let totals = self::items(resource, "total").filter_map(|total| {
        let category = total.get("category").and_then(words::concept)?;
        Some(format!(
            "{category}: {}",
            total.get("amount").and_then(words::quantity)?
        ))
    });
    let paid = resource
        .get("payment")
        .and_then(|payment| payment.get("amount"))
        .and_then(words::quantity);
    let paid = paid.map(|paid| format!("Paid: {paid}"));
    vec![vec![
        day(resource, &["billablePeriod", "created"]),
        joined(&[concepts(resource, "type"), status], ", "),
        joined(&parts, ". "),
        joined(
            &[
                references(resource, resource.get("provider")),
                references(resource, resource.get("facility")),
            ],
            ", ",
        ),
        cell(words::join(totals.chain(paid), "; ")),
    ]]
}

fn items<'t>(resource: &Resource<'t>, name: &str) -> impl Iterator<Item = Value<'t>> {
    resource.get(name).into_iter().flat_map(|list| list.items())
}
