//! Condition: the chronic conditions of the problem list, and the diagnoses of visits.

use uuid::Uuid;

use super::super::super::people::calendar::{DAY, Moment, PRESENT, Text};
use super::super::super::people::chart::{Chart, Reason, Visit};
use super::super::super::people::profile::Illness;
use super::super::codes::{Code, condition_category, condition_clinical, condition_verification, snomed};
use super::diagnoses::Acute;

/// The course of a condition.
struct Course {
    since: Moment,
    until: Option<Moment>,
    /// Whether the onset is recorded only as a month.
    vague: bool,
    refuted: bool,
}

/// Writes a chronic condition as an item of the person's problem list.
pub(in crate::sandbox) fn chronic_condition(chart: &mut Chart<'_>, illness: Illness) {
    let course = Course {
        since: illness.since,
        until: None,
        vague: chart.dice.percent(30),
        refuted: false,
    };
    write(chart, illness.id, &illness.what.icd, &illness.what.snomed, course, None);
}

/// Writes the condition that was diagnosed at a visit. Returns it as a reason, so that the other resources of the visit
/// can refer to it.
pub(in crate::sandbox) fn acute_condition(chart: &mut Chart<'_>, visit: &Visit, what: &'static Acute) -> Reason {
    let id = chart.dice.id();
    let since = visit
        .start
        .after(-chart.dice.between(0, 4) * DAY)
        .max(chart.profile.birth);
    let until = since.after((what.days + chart.dice.between(0, 6)) * DAY);
    let course = Course {
        since,
        until: (until < chart.profile.end().min(PRESENT)).then_some(until),
        vague: false,
        refuted: chart.dice.percent(2),
    };
    write(chart, id, &what.icd, &what.snomed, course, Some(visit));
    Reason {
        condition: id,
        icd: what.icd,
        snomed: what.snomed,
    }
}

fn write(chart: &mut Chart<'_>, id: Uuid, icd: &Code, snomed: &Code, course: Course, visit: Option<&Visit>) {
    let (patient, zone) = (chart.patient(), chart.zone);
    let asserter = chart.care[visit.map_or(0, |visit| visit.place)].practitioners
        [visit.map_or(chart.primary, |visit| visit.practitioner)]
    .link();
    let severe = chart.dice.weighted(&[70, 18, 9, 3]);
    chart.records.add("Condition", id, |o| {
        let profile = if visit.is_some() {
            "condition-encounter-diagnosis"
        } else {
            "condition-problems-health-concerns"
        };
        o.us_core(profile);
        let (clinical, verification) = match (&course.until, course.refuted) {
            (_, true) => (
                condition_clinical("inactive", "Inactive"),
                condition_verification("refuted", "Refuted"),
            ),
            (Some(_), _) => (
                condition_clinical("resolved", "Resolved"),
                condition_verification("confirmed", "Confirmed"),
            ),
            (None, _) => (
                condition_clinical("active", "Active"),
                condition_verification("confirmed", "Confirmed"),
            ),
        };
        o.concept("clinicalStatus", &clinical)
            .concept("verificationStatus", &verification);
        o.concepts(
            "category",
            &match visit {
                Some(_) => condition_category("encounter-diagnosis", "Encounter Diagnosis"),
                None => condition_category("problem-list-item", "Problem List Item"),
            },
        );
        if severe > 0 {
            o.concept("severity", &SEVERITIES[severe - 1]);
        }
        o.concept_of("code", &[icd, snomed], Some(snomed.display))
            .link("subject", patient);
        if let Some(visit) = visit {
            o.link("encounter", visit.link());
        }
        if course.vague {
            o.text("onsetDateTime", Text::Month(course.since));
        } else {
            o.text("onsetDateTime", Text::Second(course.since, zone));
        }
        o.maybe("abatementDateTime", course.until.map(|until| Text::Second(until, zone)));
        o.text(
            "recordedDate",
            Text::Day(visit.map_or(course.since, |visit| visit.start)),
        )
        .link("asserter", asserter);
    });
}

const SEVERITIES: &[Code] = &[
    snomed("255604002", "Mild"),
    snomed("6736007", "Moderate"),
    snomed("24484000", "Severe"),
];
