//! Parts of dates and times from FHIRPath 3.0 (ballot): `yearOf` to `timezoneOffsetOf`, `dateOf`, `timeOf`. The result
//! is empty if the value lacks the part, or if a value of its type never has this part.

use super::super::signature;
use super::super::signature::{Function, Need, Signature};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::values::builder::Computed;
use crate::fhirpath::values::number::Number;
use crate::fhirpath::values::scalar::Scalar;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    whole("yearOf", |call| integers(call, |parts| parts.date.get(..4))),
    whole("monthOf", |call| integers(call, |parts| parts.date.get(5..7))),
    whole("dayOf", |call| integers(call, |parts| parts.date.get(8..10))),
    whole("hourOf", |call| integers(call, |parts| parts.clock.get(..2))),
    whole("minuteOf", |call| integers(call, |parts| parts.clock.get(3..5))),
    whole("secondOf", |call| integers(call, |parts| parts.clock.get(6..8))),
    whole("millisecondOf", |call| {
        of_parts(call, |parts| {
            let (_, fraction) = parts.clock.split_once('.')?;
            format!("{fraction:0<3.3}").parse().ok().map(Computed::Integer)
        })
    }),
    function("timezoneOffsetOf", decimal, |call| of_parts(call, offset)),
    function("dateOf", date, |call| {
        of_parts(call, |parts| {
            (!parts.date.is_empty()).then(|| Computed::Date(parts.date.to_string()))
        })
    }),
    function("timeOf", time, |call| {
        of_parts(call, |parts| {
            let timed = !parts.date.is_empty() && !parts.clock.is_empty();
            timed.then(|| Computed::Time(parts.clock.to_string()))
        })
    }),
];

type Run = fn(&Invocation<'_>) -> Result<Output, FhirPathError>;

const fn function(name: &'static str, shape: fn(&Signature<'_>) -> Shape, run: Run) -> Function {
    Function {
        name,
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape,
        run,
    }
}

const fn whole(name: &'static str, run: Run) -> Function {
    function(name, signature::integer, run)
}

fn decimal(_: &Signature<'_>) -> Shape {
    Shape::one(ItemType::System(System::Decimal))
}

fn date(_: &Signature<'_>) -> Shape {
    Shape::one(ItemType::System(System::Date))
}

fn time(_: &Signature<'_>) -> Shape {
    Shape::one(ItemType::System(System::Time))
}

/// The parts of a date, dateTime or time. Missing parts are empty.
struct Parts<'a> {
    date: &'a str,
    clock: &'a str,
    zone: &'a str,
}

impl<'a> Parts<'a> {
    fn of(kind: System, text: &'a str) -> Parts<'a> {
        let (date, clock) = match kind {
            System::Time => ("", text),
            _ => text.split_once('T').unwrap_or((text, "")),
        };
        let (clock, zone) = clock.split_at(clock.find(['Z', '+', '-']).unwrap_or(clock.len()));
        Parts { date, clock, zone }
    }
}

fn of_parts(call: &Invocation<'_>, of: impl Fn(&Parts<'_>) -> Option<Computed>) -> Result<Output, FhirPathError> {
    call.map(|_, value| {
        Ok(match value {
            Scalar::Temporal(kind, text) if value.moment().is_some() => of(&Parts::of(kind, text)),
            _ => None,
        })
    })
}

fn integers(
    call: &Invocation<'_>,
    digits: impl for<'p> Fn(&Parts<'p>) -> Option<&'p str>,
) -> Result<Output, FhirPathError> {
    of_parts(call, |parts| digits(parts)?.parse().ok().map(Computed::Integer))
}

/// Returns the zone's offset from UTC in hours, which is negative west of Greenwich. `None` if there is no zone.
fn offset(parts: &Parts<'_>) -> Option<Computed> {
    let minutes = match parts.zone {
        "" => return None,
        "Z" => 0,
        zone => {
            let number = |digits: Option<&str>| digits?.parse::<i64>().ok();
            let minutes = number(zone.get(1..3))? * 60 + number(zone.get(4..6))?;
            if zone.starts_with('-') { -minutes } else { minutes }
        }
    };
    let hours = Number::whole(minutes).divide(Number::whole(60))?;
    let hours = if hours.scale == 0 { hours.rescaled(1)? } else { hours };
    Some(Computed::Decimal(hours))
}
