//! Sections about observations and reports.

use super::super::cells::{cell, concepts, day, joined, notes, plain, references};
use super::super::resource::Resource;
use super::section::{Section, Table};
use crate::columns::json::Value;
use crate::patient::words;

const VALUES: &[(&str, f32)] = &[
    ("Date", 2.2),
    ("What", 5.0),
    ("Value", 4.0),
    ("Reference range", 3.0),
    ("Status", 2.0),
];
const REPORTS: &[(&str, f32)] = &[
    ("Date", 2.2),
    ("Report", 4.0),
    ("Results", 5.0),
    ("Conclusion", 4.0),
    ("Status", 2.0),
];
const OBSERVED: &[&str] = &["effectiveDateTime", "effectivePeriod", "effectiveInstant", "issued"];

const fn values(title: &'static str, takes: fn(&Resource<'_>) -> bool) -> Table {
    Table {
        title,
        takes,
        columns: VALUES,
        dates: OBSERVED,
        rows: observation,
    }
}

const fn reports(title: &'static str, takes: fn(&Resource<'_>) -> bool) -> Table {
    Table {
        title,
        takes,
        columns: REPORTS,
        dates: OBSERVED,
        rows: report,
    }
}

pub(in crate::patient::pdf) const VITAL_SIGNS: Section = Section {
    title: "Vital Signs",
    tables: &[values("Vital signs", |resource| {
        is_observation(resource, "vital-signs")
    })],
};

pub(in crate::patient::pdf) const LAB_RESULTS: Section = Section {
    title: "Lab Results",
    tables: &[
        reports("Laboratory reports", |resource| {
            resource.type_name == "DiagnosticReport" && resource.has("category", LABORATORY)
        }),
        values("Laboratory results", |resource| is_observation(resource, "laboratory")),
    ],
};

pub(in crate::patient::pdf) const SOCIAL_HISTORY: Section = Section {
    title: "Social History",
    tables: &[values("Social history", |resource| {
        is_observation(resource, "social-history")
    })],
};

pub(in crate::patient::pdf) const IMAGING: Section = Section {
    title: "Imaging & Radiology",
    tables: &[
        reports("Radiology reports", |resource| {
            resource.type_name == "DiagnosticReport" && resource.has("category", RADIOLOGY)
        }),
        Table {
            title: "Imaging studies",
            takes: |resource| resource.type_name == "ImagingStudy",
            columns: &[("Date", 2.2), ("Study", 5.0), ("Series", 5.0), ("Status", 2.0)],
            dates: &["started"],
            rows: study,
        },
    ],
};

/// Categories of reports from laboratories (HL7 table 0074).
const LABORATORY: &[&str] = &[
    "LAB", "CH", "HM", "MB", "SR", "BLB", "CP", "IMM", "TX", "VR", "SP", "CG",
];
/// Categories of radiology reports (HL7 table 0074, and a LOINC part).
const RADIOLOGY: &[&str] = &["RAD", "RUS", "RX", "CT", "NMR", "NMS", "XRC", "VUS", "OUS", "LP29684-5"];

fn is_observation(resource: &Resource<'_>, category: &str) -> bool {
    resource.type_name == "Observation" && resource.has("category", &[category])
}

fn observation(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let components = resource.get("component").into_iter().flat_map(|list| list.items());
    let components = components.filter_map(|component| {
        let name = component.get("code").and_then(words::concept);
        words::join([name, value(component)].into_iter().flatten(), ": ")
    });
    let own = words::join(value(resource.json).into_iter().chain(components), "; ");
    let interpretation = words::concepts(resource.get("interpretation")).map(|text| format!("({text})"));
    let ranges = resource.get("referenceRange").into_iter().flat_map(|list| list.items());
    let ranges = ranges.filter_map(|range| words::text(range.get("text")).or_else(|| words::range(range)));
    vec![vec![
        day(resource, OBSERVED),
        joined(
            &[
                concepts(resource, "code"),
                concepts(resource, "bodySite"),
                notes(resource),
            ],
            ", ",
        ),
        joined(&[cell(own), cell(interpretation)], " "),
        cell(words::join(ranges, "; ")),
        plain(resource, "status"),
    ]]
}

/// Returns the value of an Observation or of a component, or the reason why it is absent.
fn value(of: Value<'_>) -> Option<String> {
    words::chosen(of, "value").or_else(|| of.get("dataAbsentReason").and_then(words::concept))
}

fn report(resource: &Resource<'_>) -> Vec<Vec<String>> {
    vec![vec![
        day(resource, OBSERVED),
        joined(
            &[
                concepts(resource, "code"),
                references(resource, resource.get("performer")),
            ],
            ", ",
        ),
        references(resource, resource.get("result")),
        joined(
            &[plain(resource, "conclusion"), concepts(resource, "conclusionCode")],
            ", ",
        ),
        plain(resource, "status"),
    ]]
}

fn study(resource: &Resource<'_>) -> Vec<Vec<String>> {
    let series = resource.get("series").into_iter().flat_map(|list| list.items());
    let series = series.filter_map(|series| {
        let modality = series
            .get("modality")
            .and_then(|coding| words::text(coding.get("display")).or_else(|| words::text(coding.get("code"))));
        let site = series
            .get("bodySite")
            .and_then(|coding| words::text(coding.get("display")));
        let text = words::text(series.get("description"));
        words::join([modality, site, text].into_iter().flatten(), ", ")
    });
    vec![vec![
        day(resource, &["started"]),
        joined(
            &[
                plain(resource, "description"),
                concepts(resource, "procedureCode"),
                notes(resource),
            ],
            ", ",
        ),
        cell(words::join(series, "; ")),
        plain(resource, "status"),
    ]]
}
