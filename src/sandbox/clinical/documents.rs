//! DocumentReference: the notes of visits, as plain text in the attachment.

use std::fmt::Write;

use base64::Engine;

use super::super::people::calendar::{HOUR, Text};
use super::super::people::chart::{Chart, Kind, Visit};
use super::codes::{Code, document_category, loinc};
use super::diagnostics::reports;

const PROGRESS: Code = loinc("11506-3", "Progress note");
const DISCHARGE: Code = loinc("18842-5", "Discharge summary");
const CONSULT: Code = loinc("11488-4", "Consult note");
const REMARKS: &[&str] = &[
    "Feels well and sleeps through the night.",
    "Reports tiredness in the afternoon, otherwise unchanged.",
    "Walks for half an hour on most days; appetite good.",
    "Temperature was up to 38.2 °C at home, now settling.",
    "Asks about side effects; these were gone through together.",
    "Says: “it comes & goes”. No red flags found.",
];
const PLANS: &[&str] = &[
    "Continue as before, return in six months.",
    "Blood tests today; results by letter.",
    "Return sooner if there is no improvement within a week.",
    "Exercise and diet were discussed, leaflet given.",
];

/// Writes the note of a visit. A quarter of the notes are also written as a DiagnosticReport.
pub(in crate::sandbox) fn at_visit(chart: &mut Chart<'_>, visit: &Visit) {
    let words = words(chart, visit);
    let id = chart.dice.id();
    let (patient, zone) = (chart.patient(), chart.zone);
    let practitioner = chart.practitioner(visit).link();
    let custodian = chart.organization(visit).link();
    let code = match visit.kind {
        Kind::Inpatient => DISCHARGE,
        Kind::Emergency => CONSULT,
        _ => PROGRESS,
    };
    let superseded = chart.dice.percent(2);
    chart.records.add("DocumentReference", id, |o| {
        o.us_core("documentreference")
            .identifier("urn:ietf:rfc:3986", format_args!("urn:uuid:{id}"));
        o.text("status", if superseded { "superseded" } else { "current" })
            .text("docStatus", "final");
        o.concept_of("type", &[&code], Some(code.display));
        o.concepts("category", &document_category("clinical-note", "Clinical Note"));
        o.link("subject", patient)
            .text("date", Text::Instant(visit.end))
            .links("author", practitioner);
        o.link("custodian", custodian);
        o.only("content", |o| {
            o.object("attachment", |o| {
                o.text("contentType", "text/plain").text("language", "en-US");
                o.text("data", base64::engine::general_purpose::STANDARD.encode(&words))
                    .bare("size", words.len());
                o.text("title", format_args!("{} of {}", code.display, Text::Day(visit.start)));
                o.text("creation", Text::Second(visit.end.after(HOUR), zone));
            });
            o.object("format", |o| {
                o.text(
                    "system",
                    "http://ihe.net/fhir/ihe.formatcode.fhir/CodeSystem/formatcode",
                );
                o.text("code", "urn:ihe:iti:xds:2017:mimeTypeSufficient")
                    .text("display", "mimeType Sufficient");
            });
        });
        o.object("context", |o| {
            o.links("encounter", visit.link())
                .period("period", visit.start, Some(visit.end), zone);
        });
    });
    if chart.dice.percent(25) {
        reports::note(chart, visit, &words);
    }
}

fn words(chart: &mut Chart<'_>, visit: &Visit) -> String {
    let profile = chart.profile;
    let mut words = String::new();
    // The result is ignored here and below, because writing to a `String` cannot fail.
    let _ = write!(
        words,
        "{}\n{}, {} years\n\n",
        Text::Day(visit.start),
        chart.name,
        profile.age(visit.start)
    );
    for reason in &visit.reasons {
        let _ = writeln!(words, "Seen for: {} ({})", reason.snomed.display, reason.icd.code);
    }
    for illness in profile.illnesses.iter().filter(|illness| illness.since <= visit.start) {
        let _ = writeln!(
            words,
            "Known: {}, since {}",
            illness.what.snomed.display,
            Text::Year(illness.since)
        );
    }
    let (remark, plan) = (chart.dice.pick(REMARKS), chart.dice.pick(PLANS));
    let _ = writeln!(words, "\n{remark}\n\nPlan: {plan}");
    words
}
