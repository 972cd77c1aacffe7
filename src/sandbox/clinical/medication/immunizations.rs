//! Immunization: those of childhood, influenza in autumn, and some later in life.

use super::super::super::output::datatypes::{Unit, link};
use super::super::super::output::json::decimal;
use super::super::super::people::calendar::{DAY, Moment, PRESENT, Text, YEAR};
use super::super::super::people::chart::Chart;
use super::super::codes::{Code, cvx, snomed};

/// The vaccines of childhood. The numbers are the ages in months at which a child gets the doses.
const CHILDHOOD: &[(Code, &[i64])] = &[
    (cvx("08", "Hep B, adolescent or pediatric"), &[0, 1, 6]),
    (cvx("20", "DTaP"), &[2, 4, 6, 15, 52]),
    (cvx("10", "IPV"), &[2, 4, 6, 52]),
    (cvx("49", "Hib (PRP-OMP)"), &[2, 4, 12]),
    (cvx("133", "Pneumococcal conjugate PCV 13"), &[2, 4, 6, 12]),
    (cvx("119", "rotavirus, monovalent"), &[2, 4]),
    (cvx("03", "MMR"), &[12, 50]),
    (cvx("21", "varicella"), &[12, 50]),
    (cvx("83", "Hep A, ped/adol, 2 dose"), &[13, 20]),
    (cvx("115", "Tdap"), &[134]),
];
const INFLUENZA: Code = cvx("140", "Influenza, seasonal, injectable, preservative free");
const TETANUS: Code = cvx("113", "Td (adult) preservative free");
const ZOSTER: Code = cvx("187", "zoster recombinant");
const PNEUMOCOCCAL: Code = cvx("33", "pneumococcal polysaccharide vaccine, 23 valent");
const COVID: Code = cvx("208", "COVID-19, mRNA, LNP-S, PF, 30 mcg/0.3 mL dose");
const REFUSED: Code = super::super::codes::act("PATOBJ", "patient objection");
const ARMS: &[Code] = &[
    snomed("368208006", "Left upper arm structure"),
    snomed("368209003", "Right upper arm structure"),
];
/// 2021-02-01: the first day of COVID-19 vaccinations in the population.
const COVID_BEGAN: Moment = Moment(1_612_137_600);
/// The approximate length of the period before `Profile::end` in which influenza and tetanus vaccinations are recorded.
/// `Profile::end` is the last moment with events.
const REACH: i64 = 10 * YEAR;

/// Writes all of a person's immunizations.
pub(in crate::sandbox) fn write(chart: &mut Chart<'_>) {
    let (birth, end) = (chart.profile.birth, chart.profile.end());
    if chart.profile.age(end) < 25 {
        for (code, months) in CHILDHOOD {
            for (at, month) in months.iter().enumerate() {
                let when = birth.after(month * YEAR / 12 + chart.dice.between(0, 25) * DAY);
                one(chart, code, when, Some(at + 1));
            }
        }
    }
    let mut autumn = birth.after(YEAR).max(end.after(-REACH));
    while autumn < end {
        if chart.dice.percent(55) {
            let when = Moment(autumn.day().0 / YEAR * YEAR).after((275 + chart.dice.between(0, 80)) * DAY);
            one(chart, &INFLUENZA, when, None);
        }
        autumn = autumn.after(YEAR);
    }
    if chart.profile.age(end) >= 25 {
        let when = end.after(-chart.dice.between(1, REACH / DAY) * DAY);
        one(chart, &TETANUS, when, None);
    }
    if chart.profile.age(end) >= 60 {
        let first = end.after(-chart.dice.between(200, 2000) * DAY);
        one(chart, &ZOSTER, first, Some(1));
        one(chart, &ZOSTER, first.after(70 * DAY), Some(2));
        one(chart, &PNEUMOCOCCAL, first.after(30 * DAY), None);
    }
    if chart.dice.percent(70) {
        let first = COVID_BEGAN.after(chart.dice.between(0, 200) * DAY);
        one(chart, &COVID, first, Some(1));
        one(chart, &COVID, first.after(21 * DAY), Some(2));
    }
}

fn one(chart: &mut Chart<'_>, code: &Code, at: Moment, dose: Option<usize>) {
    let at = at.day().after(chart.dice.between(14 * 3600, 21 * 3600));
    if at < chart.profile.birth || at >= chart.profile.end().min(PRESENT) {
        return;
    }
    let id = chart.dice.id();
    let (patient, zone) = (chart.patient(), chart.zone);
    let site = &chart.care[0].sites[1];
    let nurse = chart.care[0].practitioners.last();
    let lot = chart.dice.below(1_000_000);
    let refused = chart.dice.percent(2);
    let told = chart.dice.percent(8);
    let arm = chart.dice.pick(ARMS);
    chart.records.add("Immunization", id, |o| {
        o.us_core("immunization")
            .text("status", if refused { "not-done" } else { "completed" });
        if refused {
            o.concept("statusReason", &REFUSED);
        }
        o.concept_of("vaccineCode", &[code], Some(code.display))
            .link("patient", patient);
        if told {
            o.text("occurrenceString", format_args!("about {}", Text::Year(at)))
                .bare("primarySource", false);
        } else {
            o.text("occurrenceDateTime", Text::Second(at, zone))
                .bare("primarySource", true);
        }
        o.link("location", link("Location", site.location));
        if !refused {
            o.text("lotNumber", format_args!("L{lot:06}"))
                .text("expirationDate", Text::Day(at.after(400 * DAY)));
            o.concept("site", arm)
                .quantity("doseQuantity", decimal(50, 2), Unit("mL", "mL"));
        }
        if let Some(nurse) = nurse {
            o.only("performer", |o| {
                o.link("actor", nurse.link());
            });
        }
        if let Some(dose) = dose {
            o.only("protocolApplied", |o| {
                o.bare("doseNumberPositiveInt", dose);
            });
        }
    });
}
