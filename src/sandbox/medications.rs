//! Medications: the drugs there are, what is prescribed and what is handed out.

use uuid::Uuid;

use super::calendar::{DAY, Moment, Text, YEAR};
use super::chart::{Chart, Reason, Visit};
use super::codes::{Code, medication_category, rxnorm, snomed};
use super::datatypes::{Link, Unit, link};
use super::json::{Decimal, Object};
use super::pharmacy;
use super::profile::Illness;

/// A drug as it is sold.
pub(super) struct Drug {
    pub(super) code: Code,
    pub(super) form: Code,
    pub(super) directions: &'static str,
    /// How many units are taken in a day.
    pub(super) daily: i64,
    /// How many days one dispensing lasts.
    pub(super) days: i64,
    /// Price of one dispensing in cents.
    pub(super) price: i64,
    /// Taken when needed.
    pub(super) as_needed: bool,
}

const TABLET: Code = snomed("385055001", "Tablet");
const CAPSULE: Code = snomed("385049006", "Capsule");
const INHALER: Code = snomed("420641004", "Solution for inhalation");
const INJECTION: Code = snomed("385219001", "Solution for injection");
const CREAM: Code = snomed("385099005", "Cream");
const BY_MOUTH: Code = snomed("26643006", "Oral route");

const fn drug(code: Code, form: Code, directions: &'static str, daily: i64, days: i64, price: i64) -> Drug {
    Drug {
        code,
        form,
        directions,
        daily,
        days,
        price,
        as_needed: false,
    }
}

const fn as_needed(drug: Drug) -> Drug {
    Drug {
        as_needed: true,
        ..drug
    }
}

/// The drugs of the population.
pub(super) const DRUGS: &[Drug] = &[
    drug(
        rxnorm("314076", "lisinopril 10 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth every morning",
        1,
        90,
        1_240,
    ),
    drug(
        rxnorm("310798", "hydrochlorothiazide 25 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        980,
    ),
    drug(
        rxnorm("197361", "amlodipine 5 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        1_110,
    ),
    drug(
        rxnorm(
            "860975",
            "24 HR metformin hydrochloride 500 MG Extended Release Oral Tablet",
        ),
        TABLET,
        "Take 2 tablets by mouth with the evening meal",
        2,
        90,
        2_410,
    ),
    drug(
        rxnorm(
            "106892",
            "insulin isophane, human 70 UNT/ML / insulin, regular, human 30 UNT/ML Injectable Suspension",
        ),
        INJECTION,
        "Inject under the skin twice a day as told",
        2,
        30,
        13_720,
    ),
    drug(
        rxnorm("312961", "simvastatin 20 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth at bedtime",
        1,
        90,
        1_090,
    ),
    drug(
        rxnorm("617311", "atorvastatin 40 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        1_510,
    ),
    as_needed(drug(
        rxnorm("745679", "200 ACTUAT albuterol 0.09 MG/ACTUAT Metered Dose Inhaler"),
        INHALER,
        "Inhale 2 puffs every 4 hours as needed for wheezing",
        2,
        90,
        4_860,
    )),
    drug(
        rxnorm(
            "895994",
            "120 ACTUAT fluticasone propionate 0.044 MG/ACTUAT Metered Dose Inhaler",
        ),
        INHALER,
        "Inhale 2 puffs twice a day, then rinse the mouth",
        4,
        60,
        19_930,
    ),
    drug(
        rxnorm("966222", "levothyroxine sodium 0.075 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth before breakfast",
        1,
        90,
        1_830,
    ),
    drug(
        rxnorm("312941", "sertraline 50 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        1_320,
    ),
    drug(
        rxnorm("855332", "warfarin sodium 5 MG Oral Tablet"),
        TABLET,
        "Take as told by the clinic",
        1,
        60,
        1_150,
    ),
    drug(
        rxnorm(
            "866414",
            "24 HR metoprolol succinate 100 MG Extended Release Oral Tablet [Toprol]",
        ),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        3_080,
    ),
    drug(
        rxnorm("313988", "furosemide 40 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth every morning",
        1,
        90,
        870,
    ),
    drug(
        rxnorm("309362", "clopidogrel 75 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        1_660,
    ),
    as_needed(drug(
        rxnorm("849574", "naproxen sodium 220 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth every 12 hours as needed for pain",
        2,
        15,
        790,
    )),
    drug(
        rxnorm("106258", "hydrocortisone 10 MG/ML Topical Cream"),
        CREAM,
        "Apply thinly to the affected skin twice a day",
        2,
        60,
        910,
    ),
    as_needed(drug(
        rxnorm("313782", "acetaminophen 325 MG Oral Tablet"),
        TABLET,
        "Take 2 tablets by mouth every 6 hours as needed for pain or fever",
        8,
        10,
        560,
    )),
    drug(
        rxnorm("834102", "penicillin V potassium 500 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth three times a day until gone",
        3,
        10,
        1_450,
    ),
    drug(
        rxnorm("308182", "amoxicillin 250 MG Oral Capsule"),
        CAPSULE,
        "Take 1 capsule by mouth three times a day until gone",
        3,
        10,
        1_010,
    ),
    drug(
        rxnorm("562251", "amoxicillin 250 MG / clavulanate 125 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth every 8 hours until gone",
        3,
        7,
        2_290,
    ),
    drug(
        rxnorm("311372", "loratadine 10 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        30,
        1_040,
    ),
];

/// How far back refills are on record.
const REFILLS: i64 = 3 * YEAR;

/// One handing out of a drug.
pub(super) struct Dispensing {
    pub(super) id: Uuid,
    pub(super) prescription: Uuid,
    pub(super) drug: &'static Drug,
    /// Place of the pharmacy in the nation's list.
    pub(super) pharmacy: usize,
    /// Place of the prescriber among the home district's practitioners.
    pub(super) prescriber: usize,
    pub(super) at: Moment,
    /// 0 for the first.
    pub(super) refill: i64,
}

/// A prescription to be written.
struct Prescription<'a> {
    drug: &'static Drug,
    at: Moment,
    refills: i64,
    reason: Link<'static>,
    visit: Option<&'a Visit>,
    /// Place of the prescriber in the district that the visit was in.
    prescriber: Link<'a>,
    active: bool,
}

/// Writes the yearly prescriptions for a chronic condition and each time they were filled.
pub(super) fn for_illness(chart: &mut Chart<'_>, illness: Illness) {
    let pharmacy = chart.dice.index(chart.nation.pharmacies.len());
    for code in illness.what.drugs {
        // Not everybody takes everything that there is for a condition.
        if chart.dice.percent(40) {
            continue;
        }
        let Some(drug) = find(code) else { continue };
        let end = chart.profile.end();
        let mut at = illness
            .since
            .max(end.after(-REFILLS))
            .after(chart.dice.between(0, 40) * DAY);
        while at < end {
            let refills = (365 / drug.days).min(11);
            let next = at.after(refills * drug.days * DAY);
            let reason = link("Condition", illness.id);
            let name = chart.care[0].practitioners[chart.primary].name.clone();
            let id = chart.care[0].practitioners[chart.primary].id;
            let prescriber = Link {
                ty: "Practitioner",
                id,
                display: &name,
            };
            let order = Prescription {
                drug,
                at,
                refills,
                reason,
                visit: None,
                prescriber,
                active: next >= end,
            };
            let prescription = request(chart, &order);
            fill(chart, prescription, &order, pharmacy);
            at = next;
        }
    }
}

/// Writes what is prescribed at a visit for its reason, and that it was fetched.
pub(super) fn at_visit(chart: &mut Chart<'_>, visit: &Visit, reason: &Reason, code: &str) {
    let Some(drug) = find(code) else { return };
    let name = chart.practitioner(visit).name.clone();
    let prescriber = Link {
        ty: "Practitioner",
        id: chart.practitioner(visit).id,
        display: &name,
    };
    let condition = link("Condition", reason.condition);
    let order = Prescription {
        drug,
        at: visit.start,
        refills: 1,
        reason: condition,
        visit: Some(visit),
        prescriber,
        active: false,
    };
    let prescription = request(chart, &order);
    if chart.dice.percent(90) {
        let pharmacy = chart.dice.index(chart.nation.pharmacies.len());
        fill(chart, prescription, &order, pharmacy);
    }
}

fn find(code: &str) -> Option<&'static Drug> {
    DRUGS.iter().find(|drug| drug.code.code == code)
}

fn request(chart: &mut Chart<'_>, order: &Prescription<'_>) -> Uuid {
    let id = chart.dice.id();
    let (patient, zone) = (chart.patient(), chart.zone);
    let form = chart.dice.below(10);
    let shared = chart.nation.drugs[DRUGS
        .iter()
        .position(|drug| drug.code.code == order.drug.code.code)
        .unwrap_or(0)];
    let drug = order.drug;
    chart.records.add("MedicationRequest", id, |o| {
        o.us_core("medicationrequest");
        if form == 0 {
            o.only("contained", |o| {
                o.text("resourceType", "Medication")
                    .text("id", "med")
                    .concept("code", &drug.code)
                    .concept("form", &drug.form);
            });
        }
        o.identifier("https://prescriptions.example.org/order", id);
        o.text("status", if order.active { "active" } else { "completed" })
            .text("intent", "order");
        o.concepts("category", &medication_category("outpatient", "Outpatient"));
        o.text("priority", "routine").bare("reportedBoolean", false);
        // Most systems send the drug as a code; some refer to a Medication, shared or contained.
        match form {
            0 => o.object("medicationReference", |o| {
                o.text("reference", "#med");
            }),
            1 | 2 => o.link(
                "medicationReference",
                Link {
                    ty: "Medication",
                    id: shared,
                    display: drug.code.display,
                },
            ),
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
            o.bare("numberOfRepeatsAllowed", order.refills - 1);
            o.quantity("quantity", amount(drug), Unit("each", "{each}"));
            o.quantity(
                "expectedSupplyDuration",
                Decimal {
                    units: drug.days,
                    scale: 0,
                },
                Unit("d", "d"),
            );
        });
        o.object("substitution", |o| {
            o.bare("allowedBoolean", true);
        });
    });
    id
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
        if drug.form.code == TABLET.code || drug.form.code == CAPSULE.code {
            o.concept("route", &BY_MOUTH).only("doseAndRate", |o| {
                o.quantity("doseQuantity", Decimal { units: 10, scale: 1 }, Unit("each", "{each}"));
            });
        }
    });
}

fn fill(chart: &mut Chart<'_>, prescription: Uuid, order: &Prescription<'_>, pharmacy: usize) {
    for refill in 0..order.refills {
        let at = order
            .at
            .after((refill * order.drug.days + chart.dice.between(0, 5)) * DAY + chart.dice.between(0, DAY - 1));
        if at >= chart.profile.end() {
            return;
        }
        let dispensing = Dispensing {
            id: chart.dice.id(),
            prescription,
            drug: order.drug,
            pharmacy,
            prescriber: chart.primary,
            at,
            refill,
        };
        dispense(chart, &dispensing);
        pharmacy::claim(chart, &dispensing);
    }
}

fn dispense(chart: &mut Chart<'_>, dispensing: &Dispensing) {
    let (patient, zone) = (chart.patient(), chart.zone);
    let pharmacy = &chart.nation.pharmacies[dispensing.pharmacy];
    let drug = dispensing.drug;
    let waited = chart.dice.between(1, 40) * 60;
    chart.records.add("MedicationDispense", dispensing.id, |o| {
        o.us_core("medicationdispense")
            .identifier("https://prescriptions.example.org/fill", dispensing.id);
        o.text("status", "completed")
            .concept_of("medicationCodeableConcept", &[&drug.code], Some(drug.code.display));
        o.link("subject", patient);
        o.only("performer", |o| {
            o.link("actor", pharmacy.link());
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
        o.concept("type", &super::codes::act(sort.0, sort.1));
        o.quantity("quantity", amount(drug), Unit("each", "{each}"));
        o.quantity(
            "daysSupply",
            Decimal {
                units: drug.days,
                scale: 0,
            },
            Unit("d", "d"),
        );
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

#[cfg(test)]
mod tests {
    use super::super::conditions::{ACUTE, CHRONIC};
    use super::find;

    #[test]
    fn every_drug_that_a_condition_names_is_sold() {
        for code in CHRONIC
            .iter()
            .flat_map(|chronic| chronic.drugs)
            .chain(ACUTE.iter().filter_map(|acute| acute.drug.as_ref()))
        {
            assert!(find(code).is_some(), "{code}");
        }
    }
}
