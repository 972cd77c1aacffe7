//! Advance directives: a person's wishes for treatment when they cannot speak for themselves.

use super::super::record::{Chart, Entry};
use super::super::shared::common::{cell, day, named, newest, status, whom};
use super::super::shared::{Row, Section};
use crate::patient::concept::has_any;
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "advancedirectives",
    code: "42348-3",
    display: "Advance healthcare directives",
    title: "Advance Directives",
    columns: &["Directive", "Scope", "Status", "Date", "By"],
    nothing: "No information about advance directives is available.",
    rows,
};

/// Codes of the categories of Consents that are advance directives: R4's codes for advance directive, do not
/// resuscitate, health care directive and POLST, and LOINC's code for advance directives.
const CONSENTS: &[&str] = &["acd", "dnr", "hcd", "polst", "42348-3"];
/// R4's scope of Consents that are advance directives.
const SCOPE: &[&str] = &["adr"];
/// LOINC's types of documents: advance directives, advance directive, advance care plan, living will, power of
/// attorney, living will and power of attorney in one document, and portable medical orders (POLST).
const DOCUMENTS: &[&str] = &[
    "42348-3", "75320-2", "81334-5", "86533-7", "64298-3", "92664-2", "93037-0",
];

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let consents = chart.own("Consent").filter(|at| is_directive(&chart.entries[*at]));
    let consents = newest(chart, consents, &["dateTime"]);
    let documents = chart
        .own("DocumentReference")
        .filter(|at| is_document(&chart.entries[*at]));
    let documents = newest(chart, documents, &["date"]);
    let consents = consents.into_iter().map(|at| consent(chart, at));
    consents
        .chain(documents.into_iter().map(|at| document(chart, at)))
        .collect()
}

fn is_directive(entry: &Entry<'_>) -> bool {
    let is_meant = entry.has_category(CONSENTS) || has_any(entry.get("scope"), SCOPE);
    is_meant && entry.is_one("status", &["active"])
}

fn is_document(entry: &Entry<'_>) -> bool {
    let is_meant = has_any(entry.get("type"), DOCUMENTS) || entry.has_category(DOCUMENTS);
    is_meant && entry.is_one("status", &["current"]) && !entry.is_one("docStatus", &["entered-in-error", "preliminary"])
}

fn consent(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let cells = vec![
        named(entry.get("category")),
        cell(words::concepts(entry.get("scope"))),
        status(entry, "status"),
        day(entry, &["dateTime"]),
        cell(whom(chart, entry, entry.get("performer"))),
    ];
    Row { entry: at, cells }
}

fn document(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let cells = vec![
        words::text(entry.get("description")).unwrap_or_else(|| named(entry.get("type"))),
        cell(words::concepts(entry.get("category"))),
        status(entry, "status"),
        day(entry, &["date"]),
        cell(whom(chart, entry, entry.get("author"))),
    ];
    Row { entry: at, cells }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a code ends in LOINC's check digit: the Luhn digit of the digits before the hyphen.
    fn is_loinc(code: &str) -> bool {
        let Some((number, check)) = code.split_once('-') else {
            return false;
        };
        let digits = number.bytes().rev().map(|digit| u32::from(digit - b'0'));
        let weighed = digits.enumerate().map(|(place, digit)| match place % 2 {
            0 => digit * 2 / 10 + digit * 2 % 10,
            _ => digit,
        });
        let sum: u32 = weighed.sum();
        check == ((10 - sum % 10) % 10).to_string()
    }

    /// Regression: the list had 92664-0 for power of attorney and living will in one document. That is not a LOINC
    /// code, so such documents were left out.
    #[test]
    fn codes_of_documents_are_codes_of_loinc() {
        for code in DOCUMENTS {
            assert!(is_loinc(code), "{code}");
        }
        assert!(!is_loinc("92664-0"));
    }
}
