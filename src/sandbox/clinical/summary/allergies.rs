//! AllergyIntolerance: the allergies of a person, or one resource which states that no allergy is known.

use super::super::super::people::calendar::{DAY, Text};
use super::super::super::people::chart::Chart;
use super::super::codes::{Code, allergy_clinical, allergy_verification, snomed};

/// The allergies, each with its category and the usual reaction.
const SUBSTANCES: &[(Code, &str, Code)] = &[
    (
        snomed("91936005", "Allergy to penicillin"),
        "medication",
        snomed("247472004", "Wheal"),
    ),
    (
        snomed("91930004", "Allergy to eggs"),
        "food",
        snomed("422587007", "Nausea"),
    ),
    (
        snomed("91934008", "Allergy to nut"),
        "food",
        snomed("39579001", "Anaphylaxis"),
    ),
    (
        snomed("300913006", "Shellfish allergy"),
        "food",
        snomed("271807003", "Eruption of skin"),
    ),
    (
        snomed("419263009", "Allergy to tree pollen"),
        "environment",
        snomed("76067001", "Sneezing"),
    ),
    (
        snomed("418689008", "Allergy to grass pollen"),
        "environment",
        snomed("70076002", "Rhinitis"),
    ),
    (
        snomed("232350006", "House dust mite allergy"),
        "environment",
        snomed("49727002", "Cough"),
    ),
    (
        snomed("424213003", "Allergy to bee venom"),
        "environment",
        snomed("267036007", "Dyspnea"),
    ),
];
const NONE_KNOWN: Code = snomed("716186003", "No known allergy");

/// Writes a person's allergies. If the person has none, writes that no allergy is known.
pub(in crate::sandbox) fn write(chart: &mut Chart<'_>) {
    let many = chart.dice.weighted(&[60, 22, 12, 6]);
    if many == 0 {
        none(chart);
        return;
    }
    let first = chart.dice.index(SUBSTANCES.len());
    for at in 0..many {
        one(chart, &SUBSTANCES[(first + at * 3) % SUBSTANCES.len()]);
    }
}

fn none(chart: &mut Chart<'_>) {
    let id = chart.dice.id();
    let patient = chart.patient();
    let recorded = chart.profile.end().after(-chart.dice.between(1, 900) * DAY);
    chart.records.add("AllergyIntolerance", id, |o| {
        o.us_core("allergyintolerance")
            .concept("clinicalStatus", &allergy_clinical("active", "Active"));
        o.concept("verificationStatus", &allergy_verification("confirmed", "Confirmed"));
        o.concept("code", &NONE_KNOWN)
            .link("patient", patient)
            .text("recordedDate", Text::Day(recorded));
    });
}

fn one(chart: &mut Chart<'_>, (code, category, reaction): &(Code, &str, Code)) {
    let id = chart.dice.id();
    let patient = chart.patient();
    let since = chart
        .profile
        .birth
        .after(chart.dice.between(300, 6000) * DAY)
        .min(chart.profile.end().after(-DAY));
    let resolved = chart.dice.percent(10);
    let grave = chart.dice.percent(15);
    let recorder = chart.care[0].practitioners[chart.primary].link();
    chart.records.add("AllergyIntolerance", id, |o| {
        o.us_core("allergyintolerance");
        let status = if resolved {
            allergy_clinical("resolved", "Resolved")
        } else {
            allergy_clinical("active", "Active")
        };
        o.concept("clinicalStatus", &status);
        o.concept("verificationStatus", &allergy_verification("confirmed", "Confirmed"));
        o.text("type", "allergy").list("category", |l| {
            l.text(category);
        });
        o.text("criticality", if grave { "high" } else { "low" });
        o.concept_of("code", &[code], Some(code.display))
            .link("patient", patient);
        o.text("onsetDateTime", Text::Month(since))
            .text("recordedDate", Text::Day(since))
            .link("recorder", recorder);
        o.only("reaction", |o| {
            o.concepts("manifestation", reaction)
                .text("severity", if grave { "severe" } else { "mild" });
        });
    });
}
