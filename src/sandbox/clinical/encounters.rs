//! Encounter: one for each visit.

use super::super::output::datatypes::{Link, Unit, link};
use super::super::output::json::{Object, decimal};
use super::super::people::calendar::{DAY, MINUTE};
use super::super::people::chart::{Chart, Kind, Reason, Visit};
use super::codes::{Code, act, discharge, hcpcs, participation, priority, snomed};

/// The codes and the charge of a kind of visit.
pub(in crate::sandbox) struct Sort {
    pub(in crate::sandbox) class: Code,
    pub(in crate::sandbox) what: Code,
    /// The HCPCS code under which the visit is billed.
    pub(in crate::sandbox) billed: Code,
    /// The charge in cents.
    pub(in crate::sandbox) charge: i64,
}

/// Returns the codes and the charge of a kind of visit.
pub(in crate::sandbox) fn sort(kind: Kind) -> Sort {
    let ambulatory = act("AMB", "ambulatory");
    let (class, what, billed, charge) = match kind {
        Kind::Checkup => (
            ambulatory,
            snomed("185349003", "Encounter for check up"),
            hcpcs("G0439", "Annual wellness visit, subsequent"),
            18_450,
        ),
        Kind::Problem => (
            ambulatory,
            snomed("185347001", "Encounter for problem"),
            hcpcs("T1015", "Clinic visit, all-inclusive"),
            14_210,
        ),
        Kind::FollowUp => (
            ambulatory,
            snomed("390906007", "Follow-up encounter"),
            hcpcs("G0463", "Hospital outpatient clinic visit"),
            12_790,
        ),
        Kind::Remote => (
            act("VR", "virtual"),
            snomed("448337001", "Telemedicine consultation with patient"),
            hcpcs("G2012", "Brief check-in by technology"),
            4_900,
        ),
        Kind::Emergency => (
            act("EMER", "emergency"),
            snomed("50849002", "Emergency room admission"),
            hcpcs("G0383", "Hospital emergency department visit, level 4"),
            98_630,
        ),
        Kind::Inpatient => (
            act("IMP", "inpatient encounter"),
            snomed("183452005", "Emergency hospital admission"),
            hcpcs("G0378", "Hospital observation service, per hour"),
            643_210,
        ),
    };
    Sort {
        class,
        what,
        billed,
        charge,
    }
}

/// Writes the Encounter of a visit.
pub(in crate::sandbox) fn write(chart: &mut Chart<'_>, visit: &Visit) {
    let (patient, zone) = (chart.patient(), chart.zone);
    let patient = Link {
        display: &chart.name,
        ..patient
    };
    let district = &chart.care[visit.place];
    let site = &district.sites[visit.site];
    let practitioner = &district.practitioners[visit.practitioner];
    let sort = sort(visit.kind);
    let minutes = (visit.end.0 - visit.start.0) / MINUTE;
    let location = if visit.kind == Kind::Emergency {
        district.emergency
    } else {
        site.location
    };
    let home = chart.dice.percent(92);
    let cancelled = visit.kind == Kind::Remote && chart.dice.percent(6);
    chart.records.add("Encounter", visit.id, |o| {
        o.us_core("encounter")
            .identifier("https://records.example.org/encounter", visit.id);
        o.text("status", if cancelled { "cancelled" } else { "finished" });
        o.object("class", |o| {
            o.coding(&sort.class);
        });
        o.list("type", |l| {
            l.object(|o| {
                o.codings(&[&sort.what]).text("text", sort.what.display);
            });
        });
        if visit.kind == Kind::Emergency {
            o.concept("priority", &priority("EM", "emergency"));
        }
        o.link("subject", patient);
        o.only("participant", |o| {
            o.concepts("type", &participation("PPRF", "primary performer"));
            o.period("period", visit.start, Some(visit.end), zone)
                .link("individual", practitioner.link());
        });
        o.period("period", visit.start, Some(visit.end), zone);
        if visit.kind == Kind::Inpatient {
            o.quantity("length", decimal(minutes * MINUTE / DAY + 1, 0), Unit("d", "d"));
        } else {
            o.quantity("length", decimal(minutes, 0), Unit("min", "min"));
        }
        reasons(o, &visit.reasons);
        if visit.kind == Kind::Inpatient {
            o.object("hospitalization", |o| {
                let code = if home {
                    discharge("home", "Home")
                } else {
                    discharge("snf", "Skilled nursing facility")
                };
                o.concept("dischargeDisposition", &code);
            });
        }
        if visit.kind != Kind::Remote {
            o.only("location", |o| {
                o.link("location", link("Location", location))
                    .period("period", visit.start, Some(visit.end), zone);
            });
        }
        o.link("serviceProvider", site.organization.link());
    });
}

fn reasons(o: &mut Object<'_>, reasons: &[Reason]) {
    o.list("reasonCode", |l| {
        for reason in reasons {
            l.concept(&reason.snomed);
        }
    });
    o.list("diagnosis", |l| {
        for (at, reason) in reasons.iter().enumerate() {
            l.object(|o| {
                o.link("condition", link("Condition", reason.condition))
                    .bare("rank", at + 1);
            });
        }
    });
}
