//! DiagnosticReport: the laboratory's report on a panel, and the note of a visit.

use uuid::Uuid;

use base64::Engine;

use super::super::super::output::datatypes::link;
use super::super::super::people::calendar::{HOUR, Text};
use super::super::super::people::chart::{Chart, Visit};
use super::super::codes::{Code, diagnostic_section, loinc};

/// Writes the laboratory's report on a panel, with references to the results.
pub(in crate::sandbox) fn laboratory(chart: &mut Chart<'_>, visit: &Visit, code: &Code, panel: Uuid, members: &[Uuid]) {
    let id = chart.dice.id();
    let (patient, zone) = (chart.patient(), chart.zone);
    let laboratory = chart.laboratory();
    let whole = chart.dice.percent(50);
    chart.records.add("DiagnosticReport", id, |o| {
        o.us_core("diagnosticreport-lab").text("status", "final");
        o.concepts("category", &diagnostic_section("LAB", "Laboratory"));
        o.concept_of("code", &[code], Some(code.display))
            .link("subject", patient)
            .link("encounter", visit.link());
        o.text("effectiveDateTime", Text::Second(visit.start, zone))
            .text("issued", Text::Instant(visit.end.after(5 * HOUR)));
        o.links("performer", laboratory.link());
        // Half of the reports refer to the panel. The other half refer to each member of the panel.
        o.list("result", |l| {
            if whole {
                l.link(link("Observation", panel));
            } else {
                for member in members {
                    l.link(link("Observation", *member));
                }
            }
        });
    });
}

/// Writes the report of a visit, with the note as its attachment.
pub(in crate::sandbox) fn note(chart: &mut Chart<'_>, visit: &Visit, words: &str) {
    let id = chart.dice.id();
    let (patient, zone) = (chart.patient(), chart.zone);
    let practitioner = chart.practitioner(visit).link();
    chart.records.add("DiagnosticReport", id, |o| {
        o.us_core("diagnosticreport-note").text("status", "final");
        o.concepts("category", &loinc("34117-2", "History and physical note"));
        o.concept("code", &loinc("34117-2", "History and physical note"));
        o.link("subject", patient).link("encounter", visit.link());
        o.text("effectiveDateTime", Text::Second(visit.start, zone))
            .text("issued", Text::Instant(visit.end.after(HOUR)));
        o.links("performer", practitioner);
        o.only("presentedForm", |o| {
            o.text("contentType", "text/plain; charset=utf-8");
            o.text("data", base64::engine::general_purpose::STANDARD.encode(words));
        });
    });
}
