//! CareTeam, CarePlan and Goal. Each person has a team. 60% of the chronic conditions have a plan with a goal.

use super::super::output::datatypes::{Link, Unit, link};
use super::super::output::json::decimal;
use super::super::people::calendar::{DAY, Text, YEAR};
use super::super::people::chart::Chart;
use super::codes::{Code, care_category, goal_achievement, loinc, snomed};
use super::diagnostics::vitals;

const DOCTOR: Code = snomed("17561000", "Cardiologist");
const GENERAL: Code = snomed("59058001", "General physician");
const ACTIVITIES: &[Code] = &[
    snomed("229065009", "Exercise therapy"),
    snomed("160670007", "Diabetic diet"),
    snomed("183063000", "Low salt diet education"),
    snomed("384758001", "Self-care interventions"),
    snomed("409002", "Food allergy diet"),
];
const CARE_PLAN: Code = snomed("734163000", "Care plan");

/// Writes the team, the plans and the goals of a person.
pub(in crate::sandbox) fn write(chart: &mut Chart<'_>) {
    let team = team(chart);
    for at in 0..chart.profile.illnesses.len() {
        if chart.dice.percent(60) {
            plan(chart, at, team);
        }
    }
}

fn team(chart: &mut Chart<'_>) -> uuid::Uuid {
    let id = chart.dice.id();
    let patient = chart.patient();
    let member = Link {
        display: &chart.name,
        ..patient
    };
    let since = chart.profile.end().after(-chart.dice.between(100, 3000) * DAY);
    let doctor = chart.care[0].practitioners[chart.primary].link();
    let specialist = chart.dice.percent(30);
    let other = chart.care[0].practitioners[chart.care[0].practitioner(
        super::super::people::directory::Specialty::Cardiology,
        chart.profile.index,
    )]
    .link();
    let organization = chart.care[0].sites[1].organization.link();
    chart.records.add("CareTeam", id, |o| {
        o.us_core("careteam")
            .text("status", "active")
            .text("name", format_args!("Care team of {}", member.display));
        o.link("subject", patient).days("period", since, None);
        o.list("participant", |l| {
            l.object(|o| {
                o.concepts("role", &snomed("116154003", "Patient"))
                    .link("member", member);
            });
            l.object(|o| {
                o.concepts("role", &GENERAL).link("member", doctor);
            });
            if specialist {
                l.object(|o| {
                    o.concepts("role", &DOCTOR).link("member", other);
                });
            }
        });
        o.links("managingOrganization", organization);
    });
    id
}

fn plan(chart: &mut Chart<'_>, illness: usize, team: uuid::Uuid) {
    let illness = chart.profile.illnesses[illness];
    let goal = goal(chart, illness.id, illness.what.raises_pressure);
    let id = chart.dice.id();
    let patient = chart.patient();
    let first = chart.dice.index(ACTIVITIES.len());
    let began = illness.since.max(chart.profile.end().after(-6 * YEAR));
    let done = chart.profile.death.is_some();
    let author = chart.care[0].practitioners[chart.primary].link();
    chart.records.add("CarePlan", id, |o| {
        o.us_core("careplan")
            .narrative(format_args!("Care plan for {}", illness.what.snomed.display));
        o.text("status", if done { "completed" } else { "active" })
            .text("intent", "plan");
        o.list("category", |l| {
            l.concept(&care_category("assess-plan", "Assessment and Plan of Treatment"))
                .concept(&CARE_PLAN);
        });
        o.text("title", illness.what.snomed.display).link("subject", patient);
        o.days("period", began, done.then_some(chart.profile.end()))
            .link("author", author);
        o.links("careTeam", link("CareTeam", team))
            .links("addresses", link("Condition", illness.id));
        o.links("goal", link("Goal", goal));
        o.list("activity", |l| {
            for at in 0..2 {
                l.object(|o| {
                    o.object("detail", |o| {
                        o.concept("code", &ACTIVITIES[(first + at) % ACTIVITIES.len()]);
                        o.text("status", if done { "completed" } else { "in-progress" })
                            .bare("doNotPerform", false);
                        o.text("scheduledString", "as agreed with the care team");
                    });
                });
            }
        });
    });
}

fn goal(chart: &mut Chart<'_>, condition: uuid::Uuid, pressure: bool) -> uuid::Uuid {
    let id = chart.dice.id();
    let patient = chart.patient();
    let due = chart.profile.end().after(chart.dice.between(-200, 300) * DAY);
    let progress = match chart.dice.below(3) {
        0 => goal_achievement("improving", "Improving"),
        1 => goal_achievement("achieved", "Achieved"),
        _ => goal_achievement("not-achieved", "Not Achieved"),
    };
    chart.records.add("Goal", id, |o| {
        o.us_core("goal")
            .text("lifecycleStatus", "active")
            .concept("achievementStatus", &progress);
        o.object("description", |o| {
            o.text(
                "text",
                if pressure {
                    "Blood pressure below 130/80"
                } else {
                    "Body weight below 80 kg"
                },
            );
        });
        o.link("subject", patient)
            .text("startDate", Text::Day(due.after(-500 * DAY)));
        o.only("target", |o| {
            if pressure {
                o.concept("measure", &vitals::SYSTOLIC);
                o.quantity("detailQuantity", decimal(130, 0), Unit("mmHg", "mm[Hg]"));
            } else {
                o.concept("measure", &loinc("29463-7", "Body weight"));
                o.quantity("detailQuantity", decimal(800, 1), Unit("kg", "kg"));
            }
            o.text("dueDate", Text::Day(due));
        });
        o.links("addresses", link("Condition", condition));
    });
    id
}
