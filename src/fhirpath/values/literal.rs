//! Converts literals and constants to items.

use super::super::compile::types::System;
use super::super::error::{FhirPathError, Position};
use super::super::syntax::ast::Literal;
use super::builder::{Builder, Computed};
use super::items::{Index, Items};
use super::number::Number;
use super::temporal;

/// Returns the item of a literal. An error if the literal is not a valid value of its type.
pub(in crate::fhirpath) fn items(literal: &Literal, at: Position) -> Result<Items, FhirPathError> {
    let wrong = |what: &'static str, text: &str| FhirPathError::Literal {
        at,
        what,
        text: text.to_string(),
    };
    let number = |text: &str| Number::parse(text).ok_or_else(|| wrong("Decimal", text));
    let checked = |system: System, text: &str| {
        if temporal::is_valid(system, text) {
            Ok(text.to_string())
        } else {
            Err(wrong(system.name(), text))
        }
    };
    let value = match literal {
        Literal::Boolean(value) => Computed::Boolean(*value),
        Literal::String(text) => Computed::String(text.clone()),
        Literal::Integer(text) => match text.parse() {
            Ok(value) => Computed::Integer(value),
            Err(_) => Computed::Decimal(number(text)?),
        },
        Literal::Long(text) => Computed::Long(text.parse().map_err(|_| wrong("Long", text))?),
        Literal::Decimal(text) => Computed::Decimal(number(text)?),
        Literal::Date(text) => Computed::Date(checked(System::Date, text)?),
        Literal::DateTime(text) => Computed::DateTime(checked(System::DateTime, text)?),
        Literal::Time(text) => Computed::Time(checked(System::Time, text)?),
        Literal::Quantity { value, unit, calendar } => {
            let unit = if *calendar {
                super::quantity::calendar_unit(unit).to_string()
            } else {
                unit.clone()
            };
            Computed::Quantity {
                value: number(value)?,
                unit: Some(unit),
            }
        }
    };
    let mut builder = Builder::new(1);
    builder.push(value);
    builder.end_row();
    match builder.finish()?.single() {
        Some(items) => Ok(Items {
            index: Index::Constant(0),
            ..items.clone()
        }),
        None => Ok(Items::none()),
    }
}
