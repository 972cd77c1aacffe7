//! One item's value as the operators see it, borrowed from its column.

use arrow::array::{Array, AsArray};

use super::builder::Computed;
use super::items::Items;
use super::number::Number;
use super::quantity::Quantity;
use super::temporal::Moment;
use super::types::{ItemType, System};
use super::values::Values;
use crate::fhir::storage::{NUMBER, NUMBER_SCALE};

/// The value of an item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar<'a> {
    Boolean(bool),
    Integer(i32),
    Decimal(Number),
    Text(&'a str),
    /// A date, dateTime or time.
    Temporal(System, &'a str),
    Quantity(Quantity<'a>),
    /// A complex item, a whole resource, or a value that cannot be computed with.
    Other,
}

/// The UCUM system.
const UCUM: &str = "http://unitsofmeasure.org";

impl Items {
    /// The value of an item; `None` for an element without a value.
    pub(super) fn scalar(&self, item: usize) -> Option<Scalar<'_>> {
        if !self.has_value(item) {
            return None;
        }
        let slot = self.slot(item);
        Some(match &self.column.values {
            Values::Boolean(array) => Scalar::Boolean(array.value(slot)),
            Values::Integer(array) => Scalar::Integer(array.value(slot)),
            Values::Text(array) => Scalar::Text(array.value(slot)),
            Values::Decimal { text, number } => {
                let text = text
                    .as_ref()
                    .filter(|text| text.is_valid(slot))
                    .and_then(|text| Number::parse(text.value(slot)));
                let number = || {
                    let number = number.as_ref().filter(|number| number.is_valid(slot))?;
                    Some(Number {
                        mantissa: number.value(slot),
                        scale: NUMBER_SCALE.unsigned_abs().into(),
                    })
                };
                text.or_else(number).map_or(Scalar::Other, Scalar::Decimal)
            }
            Values::Temporal { text, .. } => match (text, self.temporal_type()) {
                (Some(text), Some(system)) if text.is_valid(slot) => Scalar::Temporal(system, text.value(slot)),
                _ => Scalar::Other,
            },
            Values::Quantity { value, unit } => match Number::parse(value.value(slot)) {
                Some(value) => {
                    let unit = unit.is_valid(slot).then(|| unit.value(slot));
                    Scalar::Quantity(Quantity { value, unit })
                }
                None => Scalar::Other,
            },
            Values::Struct(_) if self.ty.system() == Some(System::Quantity) => {
                self.fhir_quantity(slot).map_or(Scalar::Other, Scalar::Quantity)
            }
            Values::Struct(_) | Values::Record(_) | Values::Json(_) => Scalar::Other,
        })
    }

    fn temporal_type(&self) -> Option<System> {
        match self.ty {
            ItemType::System(system) => Some(system),
            fhir => fhir.system(),
        }
    }

    /// A FHIR Quantity as FHIRPath's: in its UCUM code, or failing that in its unit's text.
    fn fhir_quantity(&self, slot: usize) -> Option<Quantity<'_>> {
        let Values::Struct(array) = &self.column.values else {
            return None;
        };
        let text = |name: &str| {
            let column = array.column_by_name(name)?.as_string_opt::<i32>()?;
            column.is_valid(slot).then(|| column.value(slot))
        };
        let number = || {
            let column = array.column_by_name(&format!("value{NUMBER}"))?;
            let column = column.as_primitive_opt::<arrow::datatypes::Decimal128Type>()?;
            let scale = NUMBER_SCALE.unsigned_abs().into();
            column.is_valid(slot).then(|| Number {
                mantissa: column.value(slot),
                scale,
            })
        };
        let value = text("value").and_then(Number::parse).or_else(number)?;
        let unit = match (text("system"), text("code")) {
            (Some(UCUM), Some(code)) => Some(code),
            (_, code) => text("unit").or(code),
        };
        Some(Quantity { value, unit })
    }
}

impl<'a> Scalar<'a> {
    pub(super) fn number(self) -> Option<Number> {
        match self {
            Scalar::Integer(value) => Some(Number::whole(value.into())),
            Scalar::Decimal(value) => Some(value),
            _ => None,
        }
    }

    /// A quantity, or a number as one of unit 1.
    pub(super) fn quantity(self) -> Option<Quantity<'a>> {
        match self {
            Scalar::Quantity(quantity) => Some(quantity),
            other => other.number().map(|value| Quantity { value, unit: None }),
        }
    }

    pub(super) fn moment(self) -> Option<Moment> {
        match self {
            Scalar::Temporal(system, text) => Moment::parse(system, text),
            _ => None,
        }
    }

    /// As a value of its own; `None` for complex items.
    pub(super) fn computed(self) -> Option<Computed> {
        Some(match self {
            Scalar::Boolean(value) => Computed::Boolean(value),
            Scalar::Integer(value) => Computed::Integer(value),
            Scalar::Decimal(value) => Computed::Decimal(value),
            Scalar::Text(text) => Computed::String(text.to_string()),
            Scalar::Temporal(System::Date, text) => Computed::Date(text.to_string()),
            Scalar::Temporal(System::Time, text) => Computed::Time(text.to_string()),
            Scalar::Temporal(_, text) => Computed::DateTime(text.to_string()),
            Scalar::Quantity(quantity) => Computed::quantity(&quantity),
            Scalar::Other => return None,
        })
    }

    /// The System type it counts as.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Scalar::Boolean(_) => "Boolean",
            Scalar::Integer(_) => "Integer",
            Scalar::Decimal(_) => "Decimal",
            Scalar::Text(_) => "String",
            Scalar::Temporal(system, _) => system.name(),
            Scalar::Quantity(_) => "Quantity",
            Scalar::Other => "complex item",
        }
    }
}

impl Scalar<'_> {
    /// The value as `toString()` gives it; `None` for complex items.
    pub(super) fn to_text(self) -> Option<String> {
        Some(match self {
            Scalar::Boolean(value) => value.to_string(),
            Scalar::Integer(value) => value.to_string(),
            Scalar::Decimal(value) => value.to_string(),
            Scalar::Text(text) | Scalar::Temporal(_, text) => text.to_string(),
            Scalar::Quantity(quantity) => quantity.to_text(),
            Scalar::Other => return None,
        })
    }
}
