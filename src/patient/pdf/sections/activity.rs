//! Sections about visits, procedures, immunizations, devices, documents and questionnaires.

use super::super::cells::{cell, chosen, chosen_in, concepts, day, joined, notes, plain, references, references_in};
use super::super::resource::Resource;
use super::section::{Section, Table};
use crate::columns::json::Value;
use crate::patient::words;

/// The maximum depth of nested questions. Deeper ones are not shown.
const MAX_DEPTH: usize = 32;

pub(in crate::patient::pdf) const ENCOUNTERS: Section = Section {
    title: "Encounters",
    tables: &[Table {
        title: "Encounters",
        takes: |resource| resource.type_name == "Encounter",
        columns: &[
            ("Date", 3.0),
            ("Visit", 4.0),
            ("Reason", 4.0),
            ("With", 4.0),
            ("Status", 2.0),
        ],
        dates: &["period"],
        rows: |resource| {
            let class = resource
                .get("class")
                .and_then(|class| words::text(class.get("display")).or_else(|| words::text(class.get("code"))));
            let reasons = [
                concepts(resource, "reasonCode"),
                references_in(resource, "diagnosis", "condition"),
            ];
            let with = [
                references_in(resource, "participant", "individual"),
                references(resource, resource.get("serviceProvider")),
                references_in(resource, "location", "location"),
            ];
            vec![vec![
                day(resource, &["period"]),
                joined(&[concepts(resource, "type"), cell(class)], ", "),
                joined(&reasons, ", "),
                joined(&with, ", "),
                plain(resource, "status"),
            ]]
        },
    }],
};

pub(in crate::patient::pdf) const APPOINTMENTS: Section = Section {
    title: "Appointments",
    tables: &[Table {
        title: "Appointments",
        takes: |resource| resource.type_name == "Appointment",
        columns: &[("Start", 3.0), ("What", 5.0), ("With", 5.0), ("Status", 2.0)],
        dates: &["start"],
        rows: |resource| {
            let what = [
                concepts(resource, "appointmentType"),
                concepts(resource, "serviceType"),
                plain(resource, "description"),
                concepts(resource, "reasonCode"),
            ];
            vec![vec![
                plain(resource, "start").replacen('T', " ", 1),
                joined(&what, ", "),
                references_in(resource, "participant", "actor"),
                plain(resource, "status"),
            ]]
        },
    }],
};

pub(in crate::patient::pdf) const IMMUNIZATIONS: Section = Section {
    title: "Immunizations",
    tables: &[Table {
        title: "Immunizations",
        takes: |resource| resource.type_name == "Immunization",
        columns: &[
            ("Date", 2.5),
            ("Vaccine", 6.0),
            ("Lot", 2.5),
            ("By", 4.0),
            ("Status", 2.5),
        ],
        dates: &["occurrenceDateTime", "recorded"],
        rows: |resource| {
            let status = [plain(resource, "status"), concepts(resource, "statusReason")];
            vec![vec![
                chosen(resource, "occurrence"),
                joined(&[concepts(resource, "vaccineCode"), notes(resource)], ", "),
                plain(resource, "lotNumber"),
                joined(
                    &[
                        references_in(resource, "performer", "actor"),
                        references(resource, resource.get("location")),
                    ],
                    ", ",
                ),
                joined(&status, ", "),
            ]]
        },
    }],
};

pub(in crate::patient::pdf) const PROCEDURES: Section = Section {
    title: "Procedures",
    tables: &[Table {
        title: "Procedures",
        takes: |resource| resource.type_name == "Procedure",
        columns: &[
            ("Date", 3.0),
            ("Procedure", 6.0),
            ("Reason", 4.0),
            ("By", 4.0),
            ("Status", 2.0),
        ],
        dates: &["performedDateTime", "performedPeriod"],
        rows: |resource| {
            let reasons = [
                concepts(resource, "reasonCode"),
                references(resource, resource.get("reasonReference")),
            ];
            vec![vec![
                chosen(resource, "performed"),
                joined(
                    &[
                        concepts(resource, "code"),
                        concepts(resource, "bodySite"),
                        notes(resource),
                    ],
                    ", ",
                ),
                joined(&reasons, ", "),
                references_in(resource, "performer", "actor"),
                plain(resource, "status"),
            ]]
        },
    }],
};

pub(in crate::patient::pdf) const DEVICES: Section = Section {
    title: "Devices",
    tables: &[
        Table {
            title: "Devices",
            takes: |resource| resource.type_name == "Device",
            columns: &[
                ("Device", 5.0),
                ("Manufacturer", 3.0),
                ("Identifiers", 5.0),
                ("Status", 2.0),
            ],
            dates: &["manufactureDate"],
            rows: device,
        },
        Table {
            title: "Use of devices",
            takes: |resource| resource.type_name == "DeviceUseStatement",
            columns: &[("Device", 5.0), ("Reason", 4.0), ("When", 3.0), ("Status", 2.0)],
            dates: &["recordedOn"],
            rows: |resource| {
                vec![vec![
                    joined(&[references(resource, resource.get("device")), notes(resource)], ", "),
                    concepts(resource, "reasonCode"),
                    chosen(resource, "timing"),
                    plain(resource, "status"),
                ]]
            },
        },
    ],
};

pub(in crate::patient::pdf) const DOCUMENTS: Section = Section {
    title: "Documents",
    tables: &[Table {
        title: "Documents",
        takes: |resource| resource.type_name == "DocumentReference",
        columns: &[
            ("Date", 2.2),
            ("Document", 5.0),
            ("Content", 4.0),
            ("Author", 4.0),
            ("Status", 2.0),
        ],
        dates: &["date"],
        rows: |resource| {
            let contents = resource.get("content").into_iter().flat_map(|list| list.items());
            let contents = contents.filter_map(|content| {
                let attachment = content.get("attachment")?;
                let parts = ["title", "contentType"]
                    .iter()
                    .filter_map(|name| words::text(attachment.get(name)));
                words::join(parts, ", ")
            });
            let name = [
                concepts(resource, "type"),
                concepts(resource, "category"),
                plain(resource, "description"),
            ];
            vec![vec![
                day(resource, &["date"]),
                joined(&name, ", "),
                cell(words::join(contents, "; ")),
                joined(
                    &[
                        references(resource, resource.get("author")),
                        references(resource, resource.get("custodian")),
                    ],
                    ", ",
                ),
                plain(resource, "status"),
            ]]
        },
    }],
};

pub(in crate::patient::pdf) const QUESTIONNAIRES: Section = Section {
    title: "Questionnaires",
    tables: &[Table {
        title: "Questionnaires",
        takes: |resource| resource.type_name == "QuestionnaireResponse",
        columns: &[
            ("Date", 2.2),
            ("Questionnaire", 4.0),
            ("Question", 5.0),
            ("Answer", 5.0),
        ],
        dates: &["authored"],
        rows: answers,
    }],
};

fn device(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let names = resource.get("deviceName").into_iter().flat_map(|list| list.items());
    let names = names.filter_map(|name| words::text(name.get("name")));
    let carriers = resource.get("udiCarrier").into_iter().flat_map(|list| list.items());
    let carriers = carriers.filter_map(|carrier| {
        words::text(carrier.get("carrierHRF")).or_else(|| words::text(carrier.get("deviceIdentifier")))
    });
    let numbers = ["serialNumber", "lotNumber", "modelNumber", "distinctIdentifier"];
    let numbers = numbers.iter().filter_map(|name| words::text(resource.get(name)));
    vec![vec![
        joined(
            &[
                concepts(resource, "type"),
                cell(words::join(names, ", ")),
                notes(resource),
            ],
            ", ",
        ),
        plain(resource, "manufacturer"),
        cell(words::join(carriers.chain(numbers), ", ")),
        plain(resource, "status"),
    ]]
}

fn answers(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let date = day(resource, &["authored"]);
    let name = plain(resource, "questionnaire");
    let mut rows = Vec::new();
    if let Some(items) = resource.get("item") {
        ask(resource, items, 0, &mut |question, answer| {
            rows.push(vec![date.clone(), name.clone(), question, answer]);
        });
    }
    if rows.is_empty() {
        rows.push(vec![date, name, String::new(), plain(resource, "status")]);
    }
    rows
}

fn ask(resource: &Resource<'_>, items: Value<'_>, depth: usize, row: &mut impl FnMut(String, String)) {
    for item in items.items() {
        let question = words::text(item.get("text")).or_else(|| words::text(item.get("linkId")));
        let answers = item.get("answer");
        let each = answers.into_iter().flat_map(|list| list.items());
        let texts = words::join(each.filter_map(|answer| chosen_in(resource, answer, "value")), "; ");
        row(cell(question), cell(texts));
        if depth >= MAX_DEPTH {
            continue;
        }
        let inside = answers
            .into_iter()
            .flat_map(|list| list.items())
            .filter_map(|answer| answer.get("item"));
        inside
            .chain(item.get("item"))
            .for_each(|items| ask(resource, items, depth + 1, row));
    }
}
