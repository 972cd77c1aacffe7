//! Procedure: the procedures of visits.

use uuid::Uuid;

use super::super::super::output::datatypes::link;
use super::super::super::people::calendar::{HOUR, MINUTE};
use super::super::super::people::chart::{Chart, Kind, Visit};
use super::super::codes::{Code, snomed};

/// A procedure that was done.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct Done {
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) code: Code,
}

const ROUTINE: &[Code] = &[
    snomed("430193006", "Medication reconciliation"),
    snomed("428191000124101", "Documentation of current medications"),
    snomed("162676008", "Brief general examination"),
    snomed("171207006", "Depression screening"),
    snomed("710824005", "Assessment of health and social care needs"),
    snomed("29303009", "Electrocardiographic procedure"),
    snomed("23426006", "Measurement of respiratory function"),
    snomed("117015009", "Throat culture"),
    snomed("73761001", "Colonoscopy"),
];
const ACUTE: &[Code] = &[
    snomed("399208008", "Plain chest X-ray"),
    snomed("288086009", "Suture open wound"),
    snomed("74016001", "Knee X-ray"),
    snomed("371908008", "Oxygen administration by mask"),
    snomed("433236007", "Transthoracic echocardiography"),
    snomed("180325003", "Electrical cardioversion"),
];
const APPENDECTOMY: Code = snomed("80146002", "Appendectomy");
const SITES: &[Code] = &[
    snomed("51185008", "Thoracic structure"),
    snomed("72696002", "Knee region structure"),
];

/// Writes the procedures of a visit. Returns them, because the claims and the Provenance of the visit refer to them.
pub(in crate::sandbox) fn at_visit(chart: &mut Chart<'_>, visit: &Visit) -> Vec<Done> {
    let hospital = matches!(visit.kind, Kind::Emergency | Kind::Inpatient);
    let mut done = Vec::new();
    if visit.kind == Kind::Inpatient && visit.reasons.iter().any(|reason| reason.icd.code == "K35.80") {
        done.push(write(chart, visit, APPENDECTOMY));
    }
    let many = if hospital {
        chart.dice.between(1, 3)
    } else {
        chart.dice.weighted(&[40, 40, 20]) as i64
    };
    for _ in 0..many {
        let code = *chart.dice.pick(if hospital { ACUTE } else { ROUTINE });
        done.push(write(chart, visit, code));
    }
    done
}

fn write(chart: &mut Chart<'_>, visit: &Visit, code: Code) -> Done {
    let id = chart.dice.id();
    let (patient, zone) = (chart.patient(), chart.zone);
    let practitioner = chart.practitioner(visit).link();
    let location = chart.care[visit.place].sites[visit.site].location;
    let started = visit.start.after(chart.dice.between(2, 12) * MINUTE);
    let ended = started
        .after(chart.dice.between(3, 100) * MINUTE)
        .min(visit.end.after(HOUR));
    let stopped = chart.dice.percent(1);
    let site = chart
        .dice
        .percent(10)
        .then(|| SITES[(code.code.len() + 1) % SITES.len()]);
    chart.records.add("Procedure", id, |o| {
        o.us_core("procedure")
            .text("status", if stopped { "stopped" } else { "completed" });
        o.concept_of("code", &[&code], Some(code.display))
            .link("subject", patient)
            .link("encounter", visit.link());
        o.period("performedPeriod", started, Some(ended), zone);
        o.only("performer", |o| {
            o.link("actor", practitioner);
        });
        o.link("location", link("Location", location));
        if let Some(reason) = visit.reasons.first() {
            o.links("reasonReference", link("Condition", reason.condition));
        }
        if let Some(site) = &site {
            o.concepts("bodySite", site);
        }
    });
    Done { id, code }
}
