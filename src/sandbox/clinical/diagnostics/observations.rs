//! Observation: the elements that all kinds share. `vitals` and `labs` decide which observations are made, and when.

use uuid::Uuid;

use super::super::super::output::datatypes::{Link, Unit, link};
use super::super::super::output::json::{Decimal, Object, decimal};
use super::super::super::people::calendar::{HOUR, Moment, Text, Zone};
use super::super::super::people::chart::{Chart, Visit};
use super::super::codes::{Code, interpretation};

/// The value of an observation.
#[derive(Clone, Copy)]
pub(in crate::sandbox) enum Value<'a> {
    /// No value of its own. Its members or its components have the values.
    None,
    Quantity(Decimal, Unit),
    Concept(&'a Code),
    Text(&'a str),
    Integer(i64),
    Absent(&'a Code),
}

/// The time of an observation. Each variant is a precision. `Hours` is a period that begins at the moment and lasts
/// this number of hours.
#[derive(Clone, Copy)]
pub(in crate::sandbox) enum When {
    Moment(Moment),
    Day(Moment),
    Month(Moment),
    Instant(Moment),
    Hours(Moment, i64),
}

/// The bounds of the normal range, in units of the last decimal place of the value. With one decimal place, 42 means
/// 4.2.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct Range {
    pub(in crate::sandbox) low: i64,
    pub(in crate::sandbox) high: i64,
}

/// A component of an observation.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct Component<'a> {
    pub(in crate::sandbox) code: &'a Code,
    pub(in crate::sandbox) value: Value<'a>,
    pub(in crate::sandbox) range: Option<Range>,
}

/// An observation to write.
pub(in crate::sandbox) struct Draft<'a> {
    pub(in crate::sandbox) id: Uuid,
    pub(in crate::sandbox) profile: &'a str,
    pub(in crate::sandbox) category: Code,
    pub(in crate::sandbox) codes: &'a [&'a Code],
    pub(in crate::sandbox) when: When,
    pub(in crate::sandbox) visit: Option<&'a Visit>,
    pub(in crate::sandbox) performer: Link<'a>,
    pub(in crate::sandbox) device: Option<Uuid>,
    pub(in crate::sandbox) value: Value<'a>,
    pub(in crate::sandbox) range: Option<Range>,
    pub(in crate::sandbox) components: &'a [Component<'a>],
    pub(in crate::sandbox) members: &'a [Uuid],
    pub(in crate::sandbox) note: Option<&'a str>,
}

/// Writes an observation.
pub(in crate::sandbox) fn write(chart: &mut Chart<'_>, draft: &Draft<'_>) {
    let (patient, zone) = (chart.patient(), chart.zone);
    let status = match chart.dice.below(200) {
        0 => "amended",
        1 => "corrected",
        2 => "preliminary",
        _ => "final",
    };
    chart.records.add("Observation", draft.id, |o| {
        o.us_core(draft.profile)
            .text("status", status)
            .concepts("category", &draft.category);
        o.concept_of("code", draft.codes, draft.codes.first().map(|code| code.display))
            .link("subject", patient);
        if let Some(visit) = draft.visit {
            o.link("encounter", visit.link());
        }
        effective(o, draft.when, zone);
        o.links("performer", draft.performer);
        value(o, draft.value, draft.range);
        if let Some(note) = draft.note {
            o.only("note", |o| {
                o.text("text", note);
            });
        }
        if let Some(device) = draft.device {
            o.link("device", link("Device", device));
        }
        range(o, draft.value, draft.range);
        o.list("hasMember", |l| {
            for member in draft.members {
                l.link(link("Observation", *member));
            }
        });
        o.list("component", |l| {
            for component in draft.components {
                l.object(|o| {
                    o.concept("code", component.code);
                    value(o, component.value, component.range);
                    range(o, component.value, component.range);
                });
            }
        });
    });
}

fn effective(o: &mut Object<'_>, when: When, zone: Zone) {
    match when {
        When::Moment(at) => {
            o.text("effectiveDateTime", Text::Second(at, zone))
                .text("issued", Text::Instant(at.after(HOUR)));
        }
        When::Day(at) => {
            o.text("effectiveDateTime", Text::Day(at))
                .text("issued", Text::Instant(at.after(HOUR)));
        }
        When::Month(at) => {
            o.text("effectiveDateTime", Text::Month(at));
        }
        When::Instant(at) => {
            o.text("effectiveInstant", Text::Instant(at));
        }
        When::Hours(at, hours) => {
            o.period("effectivePeriod", at, Some(at.after(hours * HOUR)), zone);
        }
    }
}

/// Writes the value and its interpretation. The function `range` writes the reference range later, because R4 has other
/// elements between the interpretation and the reference range.
fn value(o: &mut Object<'_>, value: Value<'_>, range: Option<Range>) {
    match value {
        Value::None => {}
        Value::Quantity(number, unit) => {
            o.quantity("valueQuantity", number, unit);
            if let Some(range) = range {
                o.concepts("interpretation", &meaning(number.units, range));
            }
        }
        Value::Concept(code) => {
            o.concept_of("valueCodeableConcept", &[code], Some(code.display));
        }
        Value::Text(text) => {
            o.text("valueString", text);
        }
        Value::Integer(number) => {
            o.bare("valueInteger", number);
        }
        Value::Absent(reason) => {
            o.concept("dataAbsentReason", reason);
        }
    }
}

fn range(o: &mut Object<'_>, value: Value<'_>, range: Option<Range>) {
    if let (Value::Quantity(number, unit), Some(range)) = (value, range) {
        let bound = |units| decimal(units, number.scale);
        o.only("referenceRange", |o| {
            o.quantity("low", bound(range.low), unit)
                .quantity("high", bound(range.high), unit);
        });
    }
}

fn meaning(value: i64, range: Range) -> Code {
    if value < range.low {
        interpretation("L", "Low")
    } else if value > range.high {
        interpretation("H", "High")
    } else {
        interpretation("N", "Normal")
    }
}
