//! Vital signs and survey answers of visits, and measurements at home.

use super::super::super::output::datatypes::{Unit, link};
use super::super::super::output::json::{Decimal, decimal};
use super::super::super::people::calendar::{DAY, HOUR, MINUTE, Moment};
use super::super::super::people::chart::{Chart, Kind, Visit};
use super::super::codes::{Code, data_absent, loinc, observation_category, snomed};
use super::observations::{self, Component, Draft, Range, Value, When};

pub(in crate::sandbox) const HEART_RATE: Code = loinc("8867-4", "Heart rate");
pub(in crate::sandbox) const BLOOD_PRESSURE: Code = loinc("85354-9", "Blood pressure panel with all children optional");
pub(in crate::sandbox) const SYSTOLIC: Code = loinc("8480-6", "Systolic blood pressure");
pub(in crate::sandbox) const DIASTOLIC: Code = loinc("8462-4", "Diastolic blood pressure");
const RESPIRATORY_RATE: Code = loinc("9279-1", "Respiratory rate");
const TEMPERATURE: Code = loinc("8310-5", "Body temperature");
const SATURATION: Code = loinc("2708-6", "Oxygen saturation in Arterial blood");
const SATURATION_BY_PULSE: Code = loinc("59408-5", "Oxygen saturation in Arterial blood by Pulse oximetry");
const HEIGHT: Code = loinc("8302-2", "Body height");
const WEIGHT: Code = loinc("29463-7", "Body weight");
const BODY_MASS: Code = loinc("39156-5", "Body mass index (BMI) [Ratio]");
const PAIN: Code = loinc(
    "72514-3",
    "Pain severity - 0-10 verbal numeric rating [Score] - Reported",
);
const SMOKING: Code = loinc("72166-2", "Tobacco smoking status");
const STEPS: Code = loinc("55423-8", "Number of steps in unspecified time Pedometer");
const SMOKERS: &[Code] = &[
    snomed("266919005", "Never smoker"),
    snomed("8517006", "Ex-smoker"),
    snomed("77176002", "Smoker"),
];
const NOT_ASKED: Code = data_absent("not-asked", "Not Asked");
const UNKNOWN: Code = data_absent("unknown", "Unknown");
const NOT_PERFORMED: Code = data_absent("not-performed", "Not Performed");

const PER_MINUTE: Unit = Unit("/min", "/min");
const MERCURY: Unit = Unit("mmHg", "mm[Hg]");
const PRESSURE_HIGH: Range = Range { low: 90, high: 130 };
const PRESSURE_LOW: Range = Range { low: 60, high: 85 };

fn vital_signs() -> Code {
    observation_category("vital-signs", "Vital Signs")
}

/// Writes the vital signs and the survey answers of a visit.
pub(in crate::sandbox) fn at_visit(chart: &mut Chart<'_>, visit: &Visit) {
    let when = known(chart, visit.start.after(10 * MINUTE));
    blood_pressure(chart, visit, when);
    let pulse = chart.dice.near(74, 22);
    let heart = Value::Quantity(whole(pulse), PER_MINUTE);
    let heart = if chart.dice.percent(1) {
        Value::Absent(&NOT_PERFORMED)
    } else {
        heart
    };
    signal(
        chart,
        visit,
        when,
        "heart-rate",
        &[&HEART_RATE],
        heart,
        Some(Range { low: 60, high: 100 }),
    );
    let breaths = Value::Quantity(whole(chart.dice.near(16, 5)), PER_MINUTE);
    signal(
        chart,
        visit,
        when,
        "respiratory-rate",
        &[&RESPIRATORY_RATE],
        breaths,
        None,
    );
    let fever = if visit.kind == Kind::Problem { 12 } else { 0 };
    let heat = Value::Quantity(tenths(chart.dice.near(368 + fever, 9)), Unit("Cel", "Cel"));
    signal(
        chart,
        visit,
        when,
        "body-temperature",
        &[&TEMPERATURE],
        heat,
        Some(Range { low: 361, high: 375 }),
    );
    if chart.dice.percent(55) {
        let oxygen = Value::Quantity(tenths(chart.dice.near(974, 24)), Unit("%", "%"));
        let codes = [&SATURATION, &SATURATION_BY_PULSE];
        signal(
            chart,
            visit,
            when,
            "pulse-oximetry",
            &codes,
            oxygen,
            Some(Range { low: 950, high: 1000 }),
        );
    }
    body(chart, visit, when);
    if chart.dice.percent(45) {
        pain(chart, visit, when);
    }
    if visit.kind == Kind::Checkup && chart.profile.age(visit.start) >= 13 {
        smoking(chart, visit, when);
    }
}

/// Writes a person's measurements at home. Systolic pressure, diastolic pressure and pulse are separate observations.
pub(in crate::sandbox) fn at_home(chart: &mut Chart<'_>, device: uuid::Uuid, from: Moment, days: i64) {
    let mut at = from;
    let patient = chart.patient();
    for _ in 0..days {
        at = at.day().after(12 * HOUR + chart.dice.below(3 * HOUR as u64) as i64);
        if at >= chart.profile.end() {
            return;
        }
        let systolic = chart.dice.near(chart.profile.systolic + 4, 24);
        let measured = [
            (
                "blood-pressure",
                &SYSTOLIC,
                whole(systolic),
                MERCURY,
                Some(PRESSURE_HIGH),
            ),
            (
                "blood-pressure",
                &DIASTOLIC,
                whole(systolic * 62 / 100 + 4),
                MERCURY,
                Some(PRESSURE_LOW),
            ),
            (
                "heart-rate",
                &HEART_RATE,
                whole(chart.dice.near(70, 18)),
                PER_MINUTE,
                None,
            ),
        ];
        for (profile, code, number, unit, range) in measured {
            let draft = Draft {
                id: chart.dice.id(),
                profile,
                category: vital_signs(),
                codes: &[code],
                when: When::Instant(at),
                visit: None,
                performer: patient,
                device: Some(device),
                value: Value::Quantity(number, unit),
                range,
                components: &[],
                members: &[],
                note: None,
            };
            observations::write(chart, &draft);
        }
        if chart.dice.percent(8) {
            steps(chart, device, at.day());
        }
        at = at.after(DAY * if chart.dice.percent(70) { 1 } else { 2 });
    }
}

fn blood_pressure(chart: &mut Chart<'_>, visit: &Visit, when: When) {
    let systolic = chart.dice.near(chart.profile.systolic, 20);
    let components = [
        Component {
            code: &SYSTOLIC,
            value: Value::Quantity(whole(systolic), MERCURY),
            range: Some(PRESSURE_HIGH),
        },
        Component {
            code: &DIASTOLIC,
            value: if chart.dice.percent(1) {
                Value::Absent(&UNKNOWN)
            } else {
                Value::Quantity(whole(systolic * 64 / 100), MERCURY)
            },
            range: Some(PRESSURE_LOW),
        },
    ];
    let note = chart
        .dice
        .percent(3)
        .then_some("Taken seated, left arm; patient had coffee \"just before\".");
    let draft = draft(
        chart,
        visit,
        when,
        "blood-pressure",
        &[&BLOOD_PRESSURE],
        Value::None,
        None,
    );
    observations::write(
        chart,
        &Draft {
            components: &components,
            note,
            ..draft
        },
    );
}

fn body(chart: &mut Chart<'_>, visit: &Visit, when: When) {
    let profile = chart.profile;
    let years = profile.age(visit.start);
    // The factor from the height of the adult to the present height, in thousandths. It grows linearly from birth to
    // the age of 17 years.
    let grown = if years >= 17 { 1000 } else { 290 + years * 710 / 17 };
    let height = profile.height * grown / 1000;
    let weight = (profile.weight * grown / 1000 * grown / 1000 * grown / 1000 + chart.dice.near(0, 25)).max(28);
    let kilograms = Value::Quantity(tenths(weight), Unit("kg", "kg"));
    signal(chart, visit, when, "body-weight", &[&WEIGHT], kilograms, None);
    if years < 20 || chart.dice.percent(30) {
        let centimetres = Value::Quantity(tenths(height), Unit("cm", "cm"));
        signal(chart, visit, when, "body-height", &[&HEIGHT], centimetres, None);
        // The BMI in hundredths of kg/m2. `weight` is in tenths of a kilogram, and `height` in millimetres.
        let index = weight * 10_000_000 / (height * height).max(1);
        let index = Value::Quantity(decimal(index, 2), Unit("kg/m2", "kg/m2"));
        signal(
            chart,
            visit,
            when,
            "bmi",
            &[&BODY_MASS],
            index,
            Some(Range { low: 1850, high: 2500 }),
        );
    }
}

fn pain(chart: &mut Chart<'_>, visit: &Visit, when: When) {
    let value = match chart.dice.below(20) {
        0 => Value::Absent(&NOT_ASKED),
        1 => Value::Text("patient declined to rate, says \"about the same\""),
        2 | 3 => Value::Integer(chart.dice.between(0, 10)),
        _ => Value::Quantity(whole(chart.dice.between(0, 10)), Unit("{score}", "{score}")),
    };
    let draft = draft(chart, visit, when, "survey", &[&PAIN], value, None);
    let category = observation_category("survey", "Survey");
    observations::write(
        chart,
        &Draft {
            category,
            profile: "observation-screening-assessment",
            ..draft
        },
    );
}

fn smoking(chart: &mut Chart<'_>, visit: &Visit, when: When) {
    let value = Value::Concept(&SMOKERS[(chart.profile.record_number % 5 % 3) as usize]);
    let draft = draft(chart, visit, when, "smokingstatus", &[&SMOKING], value, None);
    let category = observation_category("social-history", "Social History");
    observations::write(chart, &Draft { category, ..draft });
}

fn steps(chart: &mut Chart<'_>, device: uuid::Uuid, day: Moment) {
    let value = Value::Integer(chart.dice.between(400, 16_000));
    let draft = Draft {
        id: chart.dice.id(),
        profile: "simple-observation",
        category: observation_category("activity", "Activity"),
        codes: &[&STEPS],
        when: When::Hours(day, 24),
        visit: None,
        performer: chart.patient(),
        device: Some(device),
        value,
        range: None,
        components: &[],
        members: &[],
        note: None,
    };
    observations::write(chart, &draft);
}

fn signal(
    chart: &mut Chart<'_>,
    visit: &Visit,
    when: When,
    profile: &str,
    codes: &[&Code],
    value: Value<'_>,
    range: Option<Range>,
) {
    let draft = draft(chart, visit, when, profile, codes, value, range);
    observations::write(chart, &draft);
}

fn draft<'a>(
    chart: &mut Chart<'_>,
    visit: &'a Visit,
    when: When,
    profile: &'a str,
    codes: &'a [&'a Code],
    value: Value<'a>,
    range: Option<Range>,
) -> Draft<'a> {
    Draft {
        id: chart.dice.id(),
        profile,
        category: vital_signs(),
        codes,
        when,
        visit: Some(visit),
        performer: link("Practitioner", chart.practitioner(visit).id),
        device: None,
        value,
        range,
        components: &[],
        members: &[],
        note: None,
    }
}

/// Returns the time of a measurement, with a random precision. Most measurements have a time of day. A few have only a
/// day or a month, or a period of an hour.
fn known(chart: &mut Chart<'_>, at: Moment) -> When {
    match chart.dice.below(100) {
        0..=1 => When::Month(at),
        2..=5 => When::Day(at),
        6..=7 => When::Hours(at, 1),
        _ => When::Moment(at),
    }
}

fn whole(units: i64) -> Decimal {
    Decimal { units, scale: 0 }
}

fn tenths(units: i64) -> Decimal {
    Decimal { units, scale: 1 }
}
