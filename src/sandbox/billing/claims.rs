//! The ExplanationOfBenefits of a visit: a professional claim of the practitioner, and an institutional claim of the
//! hospital. This file also has the parts that all claims share.

use uuid::Uuid;

use super::super::clinical::codes::{
    Code, care_team_role, carin_information, carin_network, claim_type, diagnosis_type, hcpcs, payee_type,
    payment as payment_type, place_of_service, procedure_type, process_priority,
};
use super::super::clinical::encounters;
use super::super::clinical::summary::procedures::Done;
use super::super::output::datatypes::{Link, Unit, link};
use super::super::output::json::{Object, decimal};
use super::super::people::calendar::{DAY, Moment, PRESENT, Text};
use super::super::people::chart;
use super::super::people::chart::{Chart, Visit};
use super::adjudication::{self, Amounts};

/// The kind of a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::sandbox) enum Kind {
    Professional,
    Institutional,
    Pharmacy,
}

/// The values that `head` writes into the first elements of a claim.
pub(in crate::sandbox) struct Head {
    pub(in crate::sandbox) kind: Kind,
    pub(in crate::sandbox) from: Moment,
    pub(in crate::sandbox) until: Moment,
    pub(in crate::sandbox) cancelled: bool,
}

/// Services that are billed in addition to the visit, with their prices in cents.
const EXTRAS: &[(Code, i64)] = &[
    (hcpcs("G0471", "Collection of venous blood by venipuncture"), 1_310),
    (hcpcs("P9604", "Travel allowance one way, flat rate"), 1_090),
    (hcpcs("G0444", "Annual depression screening, 15 minutes"), 2_140),
    (hcpcs("G0008", "Administration of influenza virus vaccine"), 3_320),
    (hcpcs("G0442", "Annual alcohol misuse screening"), 2_030),
    (hcpcs("J1885", "Injection, ketorolac tromethamine, per 15 mg"), 980),
    (hcpcs("A4570", "Splint"), 2_610),
];

/// Writes the claims of a visit. A visit to a hospital has an institutional claim, and in 40% of cases a professional
/// claim, too. Any other visit has only a professional claim.
pub(in crate::sandbox) fn at_visit(chart: &mut Chart<'_>, visit: &Visit, done: &[Done]) {
    let hospital = matches!(visit.kind, chart::Kind::Emergency | chart::Kind::Inpatient);
    if !hospital || chart.dice.percent(40) {
        write(chart, visit, done, Kind::Professional);
    }
    if hospital {
        write(chart, visit, done, Kind::Institutional);
    }
}

fn write(chart: &mut Chart<'_>, visit: &Visit, done: &[Done], kind: Kind) {
    let id = chart.dice.id();
    let items = items(chart, visit, kind);
    let sum = items.iter().fold(Amounts::default(), |sum, item| sum.plus(item.1));
    let head = Head {
        kind,
        from: visit.start,
        until: visit.end,
        cancelled: chart.dice.percent(1),
    };
    let network = if chart.dice.percent(88) {
        carin_network("innetwork", "In Network")
    } else {
        carin_network("outofnetwork", "Out Of Network")
    };
    let contained = chart.dice.percent(12);
    let patient = chart.patient();
    let insurance = chart.insurance(visit.start);
    let payer = &chart.nation.payers[insurance.payer];
    let covered = super::coverage::reference(insurance);
    let practitioner = chart.practitioner(visit);
    let organization = chart.organization(visit);
    let location = chart.care[visit.place].sites[visit.site].location;
    let provider = if kind == Kind::Institutional {
        organization.link()
    } else {
        practitioner.role()
    };
    let (practitioner, organization) = (practitioner.link(), organization.link());
    let surgeries = if kind == Kind::Institutional { done } else { &[] };
    chart.records.add("ExplanationOfBenefit", id, |o| {
        if contained {
            referral(o, patient, practitioner);
        }
        self::head(o, id, &head, patient, payer.link(), provider);
        if kind == Kind::Professional {
            o.object("payee", |o| {
                o.concept("type", &payee_type("provider", "Provider"))
                    .link("party", organization);
            });
        }
        if contained {
            o.object("referral", |o| {
                o.text("reference", "#referral");
            });
        }
        o.link("facility", link("Location", location));
        o.only("careTeam", |o| carer(o, kind, practitioner));
        o.only("supportingInfo", |o| received(o, visit));
        diagnoses(o, visit);
        procedures(o, visit, surgeries, contained);
        self::insurance(o, covered);
        o.list("item", |l| {
            for (at, (code, amounts)) in items.iter().enumerate() {
                l.object(|o| item(o, at, code, *amounts, visit));
            }
        });
        if kind == Kind::Institutional {
            adjudication::lines(o, sum);
        } else {
            o.only("adjudication", |o| {
                o.concept("category", &network);
            });
        }
        adjudication::totals(o, sum);
        payment(o, sum, visit.end.after(21 * DAY));
        o.only("processNote", note);
    });
}

fn note(o: &mut Object<'_>) {
    o.bare("number", 1)
        .text("type", "display")
        .text("text", "Based on the plan in force on the day of service.");
}

fn received(o: &mut Object<'_>, visit: &Visit) {
    o.bare("sequence", 1)
        .concept("category", &carin_information("clmrecvddate", "Claim Received Date"));
    o.text("timingDate", Text::Day(visit.end.after(4 * DAY)));
}

fn carer(o: &mut Object<'_>, kind: Kind, practitioner: Link<'_>) {
    let role = match kind {
        Kind::Institutional => care_team_role("supervisor", "Supervisor"),
        Kind::Professional | Kind::Pharmacy => care_team_role("primary", "Primary provider"),
    };
    o.bare("sequence", 1)
        .link("provider", practitioner)
        .bare("responsible", true)
        .concept("role", &role);
}

fn procedures(o: &mut Object<'_>, visit: &Visit, done: &[Done], coded: bool) {
    o.list("procedure", |l| {
        for (at, one) in done.iter().enumerate() {
            l.object(|o| {
                o.bare("sequence", at + 1)
                    .concepts("type", &procedure_type("primary", "Primary procedure"));
                o.text("date", Text::Instant(visit.start));
                if coded {
                    o.concept("procedureCodeableConcept", &one.code);
                } else {
                    o.link("procedureReference", link("Procedure", one.id));
                }
            });
        }
    });
}

fn items(chart: &mut Chart<'_>, visit: &Visit, kind: Kind) -> Vec<(Code, Amounts)> {
    let sort = encounters::sort(visit.kind);
    let nights = ((visit.end.0 - visit.start.0) / DAY).max(1);
    let charge = if kind == Kind::Institutional {
        sort.charge * nights
    } else {
        sort.charge.min(40_000)
    };
    let charge = charge + chart.dice.between(0, 4_000);
    let mut items = vec![(sort.billed, Amounts::of(&mut chart.dice, charge, 2_500))];
    for _ in 0..chart.dice.weighted(&[45, 35, 15, 5]) {
        let (code, price) = *chart.dice.pick(EXTRAS);
        let price = price + chart.dice.between(0, 500);
        items.push((code, Amounts::of(&mut chart.dice, price, 0)));
    }
    items
}

fn item(o: &mut Object<'_>, at: usize, code: &Code, amounts: Amounts, visit: &Visit) {
    o.bare("sequence", at + 1).list("careTeamSequence", |l| {
        l.bare(1);
    });
    if !visit.reasons.is_empty() {
        o.list("diagnosisSequence", |l| {
            l.bare(1);
        });
    }
    o.concept_of("productOrService", &[code], Some(code.display));
    if visit.kind == chart::Kind::Inpatient {
        o.days("servicedPeriod", visit.start, Some(visit.end));
    } else {
        o.text("servicedDate", Text::Day(visit.start));
    }
    let place = match visit.kind {
        chart::Kind::Emergency => place_of_service("23", "Emergency Room - Hospital"),
        chart::Kind::Inpatient => place_of_service("21", "Inpatient Hospital"),
        chart::Kind::Remote => place_of_service("02", "Telehealth"),
        _ => place_of_service("11", "Office"),
    };
    o.concept("locationCodeableConcept", &place);
    o.quantity("quantity", decimal(1, 0), Unit("each", "{each}"));
    o.money("net", amounts.submitted).links("encounter", visit.link());
    adjudication::lines(o, amounts);
}

/// Writes the diagnoses of a claim. Half of the claims give each diagnosis as a code. The other half refer to the
/// Condition.
fn diagnoses(o: &mut Object<'_>, visit: &Visit) {
    o.list("diagnosis", |l| {
        for (at, reason) in visit.reasons.iter().enumerate() {
            l.object(|o| {
                o.bare("sequence", at + 1);
                if visit.start.0 % 2 == 0 {
                    o.concept("diagnosisCodeableConcept", &reason.icd);
                } else {
                    o.link("diagnosisReference", link("Condition", reason.condition));
                }
                let weight = if at == 0 {
                    diagnosis_type("principal", "Principal Diagnosis")
                } else {
                    diagnosis_type("clinical", "Clinical Diagnosis")
                };
                o.concepts("type", &weight);
            });
        }
    });
}

fn referral(o: &mut Object<'_>, patient: Link<'_>, practitioner: Link<'_>) {
    o.only("contained", |o| {
        o.text("resourceType", "ServiceRequest")
            .text("id", "referral")
            .text("status", "completed")
            .text("intent", "order");
        o.link("subject", patient).link("requester", practitioner);
    });
}

/// Writes the first elements of a claim, which all kinds of claims have in common.
pub(in crate::sandbox) fn head(
    o: &mut Object<'_>,
    id: Uuid,
    of: &Head,
    patient: Link<'_>,
    insurer: Link<'_>,
    provider: Link<'_>,
) {
    let (profile, kind) = match of.kind {
        Kind::Professional => ("Professional-NonClinician", claim_type("professional", "Professional")),
        Kind::Institutional => ("Inpatient-Institutional", claim_type("institutional", "Institutional")),
        Kind::Pharmacy => ("Pharmacy", claim_type("pharmacy", "Pharmacy")),
    };
    let made = of.until.after(5 * DAY).min(PRESENT);
    o.object("meta", |o| {
        o.text("lastUpdated", Text::Instant(made)).list("profile", |l| {
            l.text(format_args!(
                "http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-ExplanationOfBenefit-{profile}"
            ));
        });
    });
    o.identifier(
        "https://claims.example.org/number",
        format_args!("CLM{:016x}", id.as_u128() >> 64),
    );
    o.text("status", if of.cancelled { "cancelled" } else { "active" })
        .concept("type", &kind)
        .text("use", "claim");
    o.link("patient", patient)
        .days("billablePeriod", of.from, Some(of.until))
        .text("created", Text::Day(made));
    o.link("insurer", insurer).link("provider", provider);
    o.concept("priority", &process_priority("normal", "Normal"))
        .text("outcome", "complete");
}

/// Writes `insurance`: the coverage that pays the claim.
pub(in crate::sandbox) fn insurance(o: &mut Object<'_>, coverage: Link<'_>) {
    o.only("insurance", |o| {
        o.bare("focal", true).link("coverage", coverage);
    });
}

/// Writes `payment`: the amount and the date.
pub(in crate::sandbox) fn payment(o: &mut Object<'_>, amounts: Amounts, at: Moment) {
    o.object("payment", |o| {
        o.concept("type", &payment_type("complete", "Complete"))
            .text("date", Text::Day(at))
            .money("amount", amounts.paid);
    });
}
