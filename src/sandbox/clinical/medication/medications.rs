//! MedicationRequest and MedicationDispense.

use uuid::Uuid;

use super::super::super::billing::pharmacy;
use super::super::super::output::datatypes::{Link, Unit, link};
use super::super::super::output::json::{Decimal, Object, decimal};
use super::super::super::people::calendar::{DAY, Moment, Text, YEAR};
use super::super::super::people::chart::{Chart, Reason, Visit};
use super::super::super::people::directory::Organization;
use super::super::super::people::profile::Illness;
use super::super::codes::{Code, act, medication_category, snomed};
use super::dispensing::Dispensing;
use super::drugs::{self, DRUGS, Drug};

const BY_MOUTH: Code = snomed("26643006", "Oral route");

/// The length of the period before `Profile::end` in which prescriptions for chronic conditions are recorded.
/// `Profile::end` is the last moment with events.
const REFILLS: i64 = 3 * YEAR;

/// A prescription to write.
struct Prescription<'a> {
    id: Uuid,
    /// The index of the drug in [`DRUGS`].
    drug: usize,
    at: Moment,
    fills: i64,
    reason: Link<'static>,
    visit: Option<&'a Visit>,
    prescriber: Link<'a>,
    active: bool,
}

/// Writes the prescriptions for a chronic condition and their dispenses. For each drug, one prescription follows the
/// other. A prescription lasts at most a year.
pub(in crate::sandbox) fn for_illness(chart: &mut Chart<'_>, illness: Illness) {
    let pharmacy = chart.dice.pick(&chart.nation.pharmacies);
    let prescriber = chart.care[0].practitioners[chart.primary].link();
    let end = chart.profile.end();
    for drug in illness.what.drugs.iter().filter_map(|code| drugs::place(code)) {
        // A person takes only some of the drugs for a condition. So each drug is left out in 40% of cases.
        if chart.dice.percent(40) {
            continue;
        }
        let recent = illness.since.max(end.after(-REFILLS));
        let mut at = recent.after(chart.dice.between(0, 40) * DAY);
        while at < end {
            let fills = (365 / DRUGS[drug].days).min(11);
            let next = at.after(fills * DRUGS[drug].days * DAY);
            let prescription = Prescription {
                id: chart.dice.id(),
                drug,
                at,
                fills,
                reason: link("Condition", illness.id),
                visit: None,
                prescriber,
                active: next >= end && chart.profile.death.is_none(),
            };
            request(chart, &prescription);
            fill(chart, &prescription, pharmacy);
            at = next;
        }
    }
}

/// Writes the prescription of a visit, and in 90% of cases its dispense. `code` is the RxNorm code of the drug.
pub(in crate::sandbox) fn at_visit(chart: &mut Chart<'_>, visit: &Visit, reason: &Reason, code: &str) {
    let Some(drug) = drugs::place(code) else { return };
    let prescription = Prescription {
        id: chart.dice.id(),
        drug,
        at: visit.start,
        fills: 1,
        reason: link("Condition", reason.condition),
        visit: Some(visit),
        prescriber: chart.practitioner(visit).link(),
        active: false,
    };
    request(chart, &prescription);
    if chart.dice.percent(90) {
        let pharmacy = chart.dice.pick(&chart.nation.pharmacies);
        fill(chart, &prescription, pharmacy);
    }
}

fn request(chart: &mut Chart<'_>, order: &Prescription<'_>) {
    let (patient, zone) = (chart.patient(), chart.zone);
    let form = chart.dice.below(10);
    let drug = &DRUGS[order.drug];
    let shared = Link {
        resource_type: "Medication",
        id: chart.nation.drugs[order.drug],
        display: drug.code.display,
    };
    chart.records.add("MedicationRequest", order.id, |o| {
        o.us_core("medicationrequest");
        if form == 0 {
            o.only("contained", |o| {
                o.text("resourceType", "Medication")
                    .text("id", "med")
                    .concept("code", &drug.code)
                    .concept("form", &drug.form);
            });
        }
        o.identifier("https://prescriptions.example.org/order", order.id);
        o.text("status", if order.active { "active" } else { "completed" })
            .text("intent", "order");
        o.concepts("category", &medication_category("outpatient", "Outpatient"));
        o.text("priority", "routine").bare("reportedBoolean", false);
        // 70% of the prescriptions give the drug as a code. 20% refer to the shared Medication of the drug, and 10% to
        // a contained Medication.
        match form {
            0 => o.object("medicationReference", |o| {
                o.text("reference", "#med");
            }),
            1 | 2 => o.link("medicationReference", shared),
            _ => o.concept_of("medicationCodeableConcept", &[&drug.code], Some(drug.code.display)),
        };
        o.link("subject", patient);
        if let Some(visit) = order.visit {
            o.link("encounter", visit.link());
        }
        o.text("authoredOn", Text::Second(order.at, zone))
            .link("requester", order.prescriber);
        o.links("reasonReference", order.reason);
        dosage(o, drug);
        o.object("dispenseRequest", |o| {
            o.days("validityPeriod", order.at, Some(order.at.after(365 * DAY)));
            o.bare("numberOfRepeatsAllowed", order.fills - 1);
            o.quantity("quantity", amount(drug), Unit("each", "{each}"));
            o.quantity("expectedSupplyDuration", decimal(drug.days, 0), Unit("d", "d"));
        });
        o.object("substitution", |o| {
            o.bare("allowedBoolean", true);
        });
    });
}

fn dosage(o: &mut Object<'_>, drug: &Drug) {
    o.only("dosageInstruction", |o| {
        o.bare("sequence", 1).text("text", drug.directions);
        o.object("timing", |o| {
            o.object("repeat", |o| {
                o.bare("frequency", drug.daily)
                    .bare("period", "1.0")
                    .text("periodUnit", "d");
            });
        });
        o.bare("asNeededBoolean", drug.as_needed);
        if drug.by_mouth() {
            o.concept("route", &BY_MOUTH).only("doseAndRate", |o| {
                o.quantity("doseQuantity", decimal(10, 1), Unit("each", "{each}"));
            });
        }
    });
}

fn fill(chart: &mut Chart<'_>, order: &Prescription<'_>, pharmacy: &Organization) {
    let drug = &DRUGS[order.drug];
    for refill in 0..order.fills {
        let late = chart.dice.between(0, 5) * DAY + chart.dice.between(0, DAY - 1);
        let at = order.at.after(refill * drug.days * DAY + late);
        if at >= chart.profile.end() {
            return;
        }
        let id = chart.dice.id();
        let prescriber = order.prescriber;
        let dispensing = Dispensing {
            id,
            prescription: order.id,
            drug,
            pharmacy,
            prescriber,
            at,
            refill,
        };
        dispense(chart, &dispensing);
        pharmacy::claim(chart, &dispensing);
    }
}

fn dispense(chart: &mut Chart<'_>, dispensing: &Dispensing<'_>) {
    let (patient, zone) = (chart.patient(), chart.zone);
    let drug = dispensing.drug;
    let waited = chart.dice.between(1, 40) * 60;
    chart.records.add("MedicationDispense", dispensing.id, |o| {
        o.us_core("medicationdispense")
            .identifier("https://prescriptions.example.org/fill", dispensing.id);
        o.text("status", "completed")
            .concept_of("medicationCodeableConcept", &[&drug.code], Some(drug.code.display));
        o.link("subject", patient);
        o.only("performer", |o| {
            o.link("actor", dispensing.pharmacy.link());
        });
        o.links(
            "authorizingPrescription",
            link("MedicationRequest", dispensing.prescription),
        );
        let sort = if dispensing.refill == 0 {
            ("FF", "First Fill")
        } else {
            ("RF", "Refill")
        };
        o.concept("type", &act(sort.0, sort.1));
        o.quantity("quantity", amount(drug), Unit("each", "{each}"));
        o.quantity("daysSupply", decimal(drug.days, 0), Unit("d", "d"));
        o.text("whenPrepared", Text::Second(dispensing.at, zone));
        o.text("whenHandedOver", Text::Second(dispensing.at.after(waited), zone));
        dosage(o, drug);
    });
}

fn amount(drug: &Drug) -> Decimal {
    Decimal {
        units: drug.daily * drug.days,
        scale: 0,
    }
}
