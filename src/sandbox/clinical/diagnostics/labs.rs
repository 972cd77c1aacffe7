//! Laboratory panels. A panel has an Observation for each analyte, an Observation that lists these Observations as
//! members, and a DiagnosticReport.

use super::super::super::output::datatypes::Unit;
use super::super::super::output::json::decimal;
use super::super::super::people::calendar::{HOUR, MINUTE};
use super::super::super::people::chart::{Chart, Visit};
use super::super::codes::{Code, data_absent, loinc, observation_category, snomed};
use super::observations::{self, Draft, Range, Value, When};
use super::reports;

/// A measured substance. `low` and `high` are the bounds of its normal range, without the decimal point. `scale` is the
/// number of decimal places: with a `scale` of 1, 42 means 4.2.
struct Analyte {
    code: Code,
    unit: Unit,
    scale: u32,
    low: i64,
    high: i64,
}

const fn analyte(code: Code, unit: &'static str, scale: u32, low: i64, high: i64) -> Analyte {
    Analyte {
        code,
        unit: Unit(unit, unit),
        scale,
        low,
        high,
    }
}

/// A panel: the analytes that the laboratory measures together.
pub(in crate::sandbox) struct Panel {
    pub(in crate::sandbox) code: Code,
    analytes: &'static [Analyte],
}

const METABOLIC: Panel = Panel {
    code: loinc("51990-0", "Basic metabolic panel - Blood"),
    analytes: &[
        analyte(
            loinc("2339-0", "Glucose [Mass/volume] in Blood"),
            "mg/dL",
            2,
            7000,
            9900,
        ),
        analyte(
            loinc("6299-2", "Urea nitrogen [Mass/volume] in Blood"),
            "mg/dL",
            2,
            700,
            2000,
        ),
        analyte(
            loinc("38483-4", "Creatinine [Mass/volume] in Blood"),
            "mg/dL",
            2,
            60,
            120,
        ),
        analyte(
            loinc("49765-1", "Calcium [Mass/volume] in Blood"),
            "mg/dL",
            2,
            850,
            1020,
        ),
        analyte(
            loinc("2947-0", "Sodium [Moles/volume] in Blood"),
            "mmol/L",
            2,
            13600,
            14400,
        ),
        analyte(
            loinc("6298-4", "Potassium [Moles/volume] in Blood"),
            "mmol/L",
            2,
            370,
            520,
        ),
        analyte(
            loinc("2069-3", "Chloride [Moles/volume] in Blood"),
            "mmol/L",
            2,
            10100,
            11100,
        ),
        analyte(
            loinc("20565-8", "Carbon dioxide, total [Moles/volume] in Blood"),
            "mmol/L",
            2,
            2000,
            2900,
        ),
    ],
};
const BLOOD_COUNT: Panel = Panel {
    code: loinc("58410-2", "CBC panel - Blood by Automated count"),
    analytes: &[
        analyte(
            loinc("6690-2", "Leukocytes [#/volume] in Blood by Automated count"),
            "10*3/uL",
            1,
            45,
            110,
        ),
        analyte(
            loinc("789-8", "Erythrocytes [#/volume] in Blood by Automated count"),
            "10*6/uL",
            2,
            410,
            590,
        ),
        analyte(loinc("718-7", "Hemoglobin [Mass/volume] in Blood"), "g/dL", 1, 120, 175),
        analyte(
            loinc("4544-3", "Hematocrit [Volume Fraction] of Blood by Automated count"),
            "%",
            1,
            360,
            500,
        ),
        analyte(
            loinc("787-2", "MCV [Entitic volume] by Automated count"),
            "fL",
            1,
            800,
            960,
        ),
        analyte(
            loinc("777-3", "Platelets [#/volume] in Blood by Automated count"),
            "10*3/uL",
            0,
            150,
            400,
        ),
    ],
};
const LIPIDS: Panel = Panel {
    code: loinc("57698-3", "Lipid panel with direct LDL - Serum or Plasma"),
    analytes: &[
        analyte(
            loinc("2093-3", "Cholesterol [Mass/volume] in Serum or Plasma"),
            "mg/dL",
            2,
            12000,
            20000,
        ),
        analyte(
            loinc("2571-8", "Triglyceride [Mass/volume] in Serum or Plasma"),
            "mg/dL",
            2,
            4000,
            15000,
        ),
        analyte(
            loinc(
                "18262-6",
                "Cholesterol in LDL [Mass/volume] in Serum or Plasma by Direct assay",
            ),
            "mg/dL",
            2,
            5000,
            10000,
        ),
        analyte(
            loinc("2085-9", "Cholesterol in HDL [Mass/volume] in Serum or Plasma"),
            "mg/dL",
            2,
            4000,
            8000,
        ),
    ],
};
const PANELS: &[Panel] = &[METABOLIC, BLOOD_COUNT, LIPIDS];
const GLYCATED: Analyte = analyte(
    loinc("4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood"),
    "%",
    1,
    40,
    56,
);
const FILTRATION: Analyte = Analyte {
    unit: Unit("mL/min/{1.73_m2}", "mL/min/{1.73_m2}"),
    ..analyte(
        loinc("33914-3", "Glomerular filtration rate/1.73 sq M.predicted"),
        "mL/min",
        0,
        60,
        120,
    )
};

const URINE_COLOR: Code = loinc("5778-6", "Color of Urine");
const URINE_NITRITE: Code = loinc("5802-4", "Nitrite [Presence] in Urine by Test strip");
const STREP: Code = loinc(
    "78012-2",
    "Streptococcus pyogenes Ag [Presence] in Throat by Rapid immunoassay",
);
const PRESENCE: &[Code] = &[
    snomed("260385009", "Negative"),
    snomed("10828004", "Positive"),
    snomed("82334004", "Indeterminate"),
];
const COLORS: &[&str] = &["Yellow", "Pale yellow", "Amber", "Straw", "Colorless"];
const LOST: Code = data_absent("error", "Error");

/// Writes the laboratory results of a visit.
pub(in crate::sandbox) fn at_visit(chart: &mut Chart<'_>, visit: &Visit) {
    let first = chart.dice.index(PANELS.len());
    let panels = 1 + usize::from(chart.dice.percent(35));
    for at in 0..panels {
        panel(chart, visit, &PANELS[(first + at) % PANELS.len()]);
    }
    if chart.dice.percent(40) {
        single(chart, visit, &GLYCATED);
    }
    if chart.dice.percent(25) {
        single(chart, visit, &FILTRATION);
    }
    if chart.dice.percent(20) {
        let color = Value::Text(COLORS[chart.dice.index(COLORS.len())]);
        finding(chart, visit, &URINE_COLOR, color);
        let nitrite = Value::Concept(&PRESENCE[chart.dice.weighted(&[85, 12, 3])]);
        finding(chart, visit, &URINE_NITRITE, nitrite);
    }
    if visit.reasons.iter().any(|reason| reason.icd.code.starts_with("J02")) {
        let result = Value::Concept(&PRESENCE[chart.dice.weighted(&[55, 42, 3])]);
        finding(chart, visit, &STREP, result);
    }
}

fn panel(chart: &mut Chart<'_>, visit: &Visit, panel: &Panel) {
    let members: Vec<_> = panel
        .analytes
        .iter()
        .map(|analyte| single(chart, visit, analyte))
        .collect();
    let id = chart.dice.id();
    let codes = [&panel.code];
    let draft = Draft {
        id,
        members: &members,
        ..draft(chart, visit, &codes, Value::None)
    };
    observations::write(chart, &draft);
    reports::laboratory(chart, visit, &panel.code, id, &members);
}

fn single(chart: &mut Chart<'_>, visit: &Visit, analyte: &Analyte) -> uuid::Uuid {
    let (middle, reach) = ((analyte.low + analyte.high) / 2, (analyte.high - analyte.low) * 4 / 5);
    let units = chart.dice.near(middle, reach).max(0);
    let value = if chart.dice.per_mille(8) {
        Value::Absent(&LOST)
    } else {
        Value::Quantity(decimal(units, analyte.scale), analyte.unit)
    };
    let range = Some(Range {
        low: analyte.low,
        high: analyte.high,
    });
    let id = chart.dice.id();
    let codes = [&analyte.code];
    let draft = Draft {
        id,
        range,
        ..draft(chart, visit, &codes, value)
    };
    observations::write(chart, &draft);
    id
}

fn finding(chart: &mut Chart<'_>, visit: &Visit, code: &Code, value: Value<'_>) {
    let id = chart.dice.id();
    let codes = [code];
    let draft = Draft {
        id,
        ..draft(chart, visit, &codes, value)
    };
    observations::write(chart, &draft);
}

fn draft<'a>(chart: &Chart<'a>, visit: &'a Visit, codes: &'a [&'a Code], value: Value<'a>) -> Draft<'a> {
    Draft {
        id: uuid::Uuid::nil(),
        profile: "observation-lab",
        category: observation_category("laboratory", "Laboratory"),
        codes,
        when: When::Moment(visit.start.after(20 * MINUTE).min(visit.end.after(2 * HOUR))),
        visit: Some(visit),
        performer: chart.laboratory().link(),
        device: None,
        value,
        range: None,
        components: &[],
        members: &[],
        note: None,
    }
}
