//! The value of one item, in the form in which operators use it. It borrows from the item's column.

use arrow::array::{Array, AsArray};

use super::super::compile::types::{ItemType, System};
use super::builder::Computed;
use super::columns::Values;
use super::items::Items;
use super::number::Number;
use super::quantity::Quantity;
use super::temporal::Moment;
use crate::fhir::decimal::Decimal;
use crate::fhir::storage::{NUMBER, NUMBER_SCALE};

/// The value of an item.
#[derive(Clone, Copy, Debug)]
pub(in crate::fhirpath) enum Scalar<'a> {
    Boolean(bool),
    Integer(i32),
    Long(i64),
    Decimal(Number),
    Text(&'a str),
    /// A date, dateTime or time.
    Temporal(System, &'a str),
    Quantity(Quantity<'a>),
    /// The text of a number that has more digits or a larger exponent than computations allow. For a Quantity, it is
    /// the text of the Quantity's number.
    Beyond(System, &'a str),
    /// A complex item, a whole resource, or a value with which the engine cannot compute, for example because the batch
    /// lacks its text.
    Other,
}

/// The URL of the code system UCUM.
const UCUM: &str = "http://unitsofmeasure.org";

impl Items {
    /// Returns the value of an item. `None` for an element without a value.
    pub(in crate::fhirpath) fn scalar(&self, item: usize) -> Option<Scalar<'_>> {
        if !self.has_value(item) {
            return None;
        }
        let slot = self.slot(item);
        Some(match &self.column.values {
            Values::Boolean(array) => Scalar::Boolean(array.value(slot)),
            Values::Integer(array) => Scalar::Integer(array.value(slot)),
            Values::Text(array) => Scalar::Text(array.value(slot)),
            Values::Decimal { text: Some(text), .. } if self.item_type == ItemType::System(System::Long) => {
                text.value(slot).parse().map_or(Scalar::Other, Scalar::Long)
            }
            Values::Decimal { text, number } => {
                let text = text
                    .as_ref()
                    .filter(|text| text.is_valid(slot))
                    .map(|text| text.value(slot));
                let number = || {
                    let number = number.as_ref().filter(|number| number.is_valid(slot))?;
                    Some(Number {
                        mantissa: number.value(slot),
                        scale: NUMBER_SCALE.unsigned_abs().into(),
                    })
                };
                match (text.and_then(written).or_else(number), text) {
                    (Some(number), _) => Scalar::Decimal(number),
                    (None, Some(text)) => Scalar::Beyond(System::Decimal, text),
                    (None, None) => Scalar::Other,
                }
            }
            Values::Temporal { text, .. } => match (text, self.temporal_type()) {
                (Some(text), Some(system)) if text.is_valid(slot) => Scalar::Temporal(system, text.value(slot)),
                _ => Scalar::Other,
            },
            Values::Quantity { value, unit } => match written(value.value(slot)) {
                Some(value) => {
                    let unit = unit.is_valid(slot).then(|| unit.value(slot));
                    Scalar::Quantity(Quantity::new(value, unit))
                }
                None => Scalar::Beyond(System::Quantity, value.value(slot)),
            },
            Values::Struct(_) if self.item_type.system() == Some(System::Quantity) => {
                self.fhir_quantity(slot).unwrap_or(Scalar::Other)
            }
            Values::Struct(_) | Values::Record(_) | Values::Json(_) => Scalar::Other,
        })
    }

    fn temporal_type(&self) -> Option<System> {
        match self.item_type {
            ItemType::System(system) => Some(system),
            fhir => fhir.system(),
        }
    }

    /// Returns a FHIR Quantity as FHIRPath's Quantity. The unit is the UCUM code if there is one, or else the text in
    /// `unit`, or else the code of another system.
    fn fhir_quantity(&self, slot: usize) -> Option<Scalar<'_>> {
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
        let Some(value) = text("value").and_then(written).or_else(number) else {
            return text("value").map(|text| Scalar::Beyond(System::Quantity, text));
        };
        let unit = match (text("system"), text("code")) {
            (Some(UCUM), Some(code)) => Some(code),
            (_, code) => text("unit").or(code),
        };
        Some(Scalar::Quantity(Quantity {
            value,
            unit,
            recorded: true,
        }))
    }
}

/// Parses a stored number for computations. A number with more digits than [`Number::parse`] accepts is also parsed, if
/// it is exact in units of 10^-18.
fn written(text: &str) -> Option<Number> {
    Number::parse(text).or_else(|| {
        Some(Number {
            mantissa: Decimal::parse(text).ok()?.scaled()?,
            scale: NUMBER_SCALE.unsigned_abs().into(),
        })
    })
}

impl<'a> Scalar<'a> {
    pub(in crate::fhirpath) fn number(self) -> Option<Number> {
        match self {
            Scalar::Integer(value) => Some(Number::whole(value.into())),
            Scalar::Long(value) => Some(Number::whole(value)),
            Scalar::Decimal(value) => Some(value),
            _ => None,
        }
    }

    /// Returns a quantity, or a number as a quantity without a unit. `None` for other values.
    pub(in crate::fhirpath) fn quantity(self) -> Option<Quantity<'a>> {
        match self {
            Scalar::Quantity(quantity) => Some(quantity),
            other => other.number().map(|value| Quantity::new(value, None)),
        }
    }

    pub(in crate::fhirpath) fn moment(self) -> Option<Moment> {
        match self {
            Scalar::Temporal(system, text) => Moment::parse(system, text),
            _ => None,
        }
    }

    /// Returns a copy of the value. `None` for complex items and for numbers with too many digits for computations.
    pub(in crate::fhirpath) fn computed(self) -> Option<Computed> {
        Some(match self {
            Scalar::Boolean(value) => Computed::Boolean(value),
            Scalar::Integer(value) => Computed::Integer(value),
            Scalar::Long(value) => Computed::Long(value),
            Scalar::Decimal(value) => Computed::Decimal(value),
            Scalar::Text(text) => Computed::String(text.to_string()),
            Scalar::Temporal(System::Date, text) => Computed::Date(text.to_string()),
            Scalar::Temporal(System::Time, text) => Computed::Time(text.to_string()),
            Scalar::Temporal(_, text) => Computed::DateTime(text.to_string()),
            Scalar::Quantity(quantity) => Computed::quantity(&quantity),
            Scalar::Beyond(..) | Scalar::Other => return None,
        })
    }

    /// Returns the System type that operators use for the value. `None` for complex items.
    pub(in crate::fhirpath) fn system(self) -> Option<System> {
        Some(match self {
            Scalar::Boolean(_) => System::Boolean,
            Scalar::Integer(_) => System::Integer,
            Scalar::Long(_) => System::Long,
            Scalar::Decimal(_) => System::Decimal,
            Scalar::Text(_) => System::String,
            Scalar::Temporal(system, _) | Scalar::Beyond(system, _) => system,
            Scalar::Quantity(_) => System::Quantity,
            Scalar::Other => return None,
        })
    }

    /// Returns the name of the value's type, for error messages.
    pub(in crate::fhirpath) fn kind(self) -> &'static str {
        self.system().map_or("complex item", System::name)
    }

    pub(in crate::fhirpath) fn is_beyond(self) -> bool {
        matches!(self, Scalar::Beyond(..))
    }
}

impl Scalar<'_> {
    /// Returns the value as `toString()` does. `None` for complex items, and for quantities whose number has too many
    /// digits for computations.
    pub(in crate::fhirpath) fn to_text(self) -> Option<String> {
        Some(match self {
            Scalar::Boolean(value) => value.to_string(),
            Scalar::Integer(value) => value.to_string(),
            Scalar::Long(value) => value.to_string(),
            Scalar::Decimal(value) => value.to_string(),
            Scalar::Text(text) | Scalar::Temporal(_, text) => text.to_string(),
            Scalar::Beyond(System::Decimal, text) => text.to_string(),
            Scalar::Quantity(quantity) => quantity.to_text(),
            Scalar::Beyond(..) | Scalar::Other => return None,
        })
    }
}
