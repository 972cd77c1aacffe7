//! Provenance: who recorded a visit and its procedures.

use uuid::Uuid;

use super::super::output::datatypes::link;
use super::super::people::calendar::{HOUR, Text};
use super::super::people::chart::{Chart, Visit};
use super::codes::provenance_agent;

/// Writes who recorded a visit and its procedures.
pub(in crate::sandbox) fn write(chart: &mut Chart<'_>, visit: &Visit, procedures: &[Uuid]) {
    let id = chart.dice.id();
    let practitioner = chart.practitioner(visit).link();
    let organization = chart.organization(visit).link();
    let patient = chart.patient();
    chart.records.add("Provenance", id, |o| {
        o.us_core("provenance");
        o.list("target", |l| {
            l.link(visit.link()).link(patient);
            for procedure in procedures {
                l.link(link("Procedure", *procedure));
            }
        });
        o.text("recorded", Text::Instant(visit.end.after(2 * HOUR)));
        o.list("agent", |l| {
            l.object(|o| {
                o.concept("type", &provenance_agent("author", "Author"))
                    .link("who", practitioner);
                o.link("onBehalfOf", organization);
            });
            l.object(|o| {
                o.concept("type", &provenance_agent("transmitter", "Transmitter"))
                    .link("who", organization);
            });
        });
    });
}
