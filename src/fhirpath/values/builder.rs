//! Collects computed values into columns, one per type.

use arrow::array::{BooleanArray, Int32Array, StringArray};

use super::super::compile::types::{ItemType, System};
use super::super::error::FhirPathError;
use super::collection::{Collection, Offsets};
use super::columns::Values;
use super::items::Items;
use super::number::Number;
use super::quantity::Quantity;

/// A computed value.
#[derive(Clone, Debug)]
pub(in crate::fhirpath) enum Computed {
    Boolean(bool),
    Integer(i32),
    Long(i64),
    Decimal(Number),
    String(String),
    Date(String),
    DateTime(String),
    Time(String),
    Quantity { value: Number, unit: Option<String> },
}

impl Computed {
    fn bytes(&self) -> usize {
        match self {
            Computed::String(text) | Computed::Date(text) | Computed::DateTime(text) | Computed::Time(text) => {
                text.len()
            }
            Computed::Quantity { unit, .. } => unit.as_ref().map_or(0, String::len),
            _ => 0,
        }
    }

    pub(in crate::fhirpath) fn quantity(quantity: &Quantity<'_>) -> Computed {
        Computed::Quantity {
            value: quantity.value,
            unit: quantity.unit.map(str::to_string),
        }
    }
}

/// The maximum number of bytes of text that one [`Builder`] accepts. `MAX_ITEMS` is the maximum number of items.
const MAX_BYTES: usize = 1 << 28;
const MAX_ITEMS: usize = 1 << 25;

/// A builder of a collection, row by row.
#[derive(Debug)]
pub(in crate::fhirpath) struct Builder {
    offsets: Vec<i32>,
    bytes: usize,
    places: Vec<(u32, u32)>,
    booleans: Vec<bool>,
    integers: Vec<i32>,
    /// The texts of the types that are stored as text, one list for each type in the order of `TEXTS`.
    texts: [Vec<String>; 6],
    quantities: (Vec<String>, Vec<Option<String>>),
}

const TEXTS: [System; 6] = [
    System::Decimal,
    System::String,
    System::Date,
    System::DateTime,
    System::Time,
    System::Long,
];

impl Builder {
    pub(in crate::fhirpath) fn new(rows: usize) -> Builder {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Builder {
            offsets,
            bytes: 0,
            places: Vec::with_capacity(rows),
            booleans: Vec::new(),
            integers: Vec::new(),
            texts: Default::default(),
            quantities: Default::default(),
        }
    }

    /// Adds an item to the current row. If there are too many items or there is too much text, drops the item. `finish`
    /// then returns an error.
    pub(in crate::fhirpath) fn push(&mut self, value: Computed) {
        self.bytes += value.bytes();
        if self.is_full() {
            return;
        }
        let mut text = |at: usize, text: String| {
            self.texts[at].push(text);
            (at as u32, self.texts[at].len())
        };
        let (part, count) = match value {
            Computed::Decimal(number) => text(0, number.to_string()),
            Computed::String(string) => text(1, string),
            Computed::Date(date) => text(2, date),
            Computed::DateTime(date) => text(3, date),
            Computed::Time(time) => text(4, time),
            Computed::Long(value) => text(5, value.to_string()),
            Computed::Boolean(value) => {
                self.booleans.push(value);
                (6, self.booleans.len())
            }
            Computed::Integer(value) => {
                self.integers.push(value);
                (7, self.integers.len())
            }
            Computed::Quantity { value, unit } => {
                self.quantities.0.push(value.to_string());
                self.quantities.1.push(unit);
                (8, self.quantities.0.len())
            }
        };
        self.places.push((part, count as u32 - 1));
    }

    fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES || self.places.len() >= MAX_ITEMS
    }

    /// Ends the current row.
    pub(in crate::fhirpath) fn end_row(&mut self) {
        self.offsets.push(self.places.len() as i32);
    }

    pub(in crate::fhirpath) fn finish(self) -> Result<Collection, FhirPathError> {
        if self.is_full() {
            return Err(FhirPathError::TooLarge);
        }
        let mut parts: Vec<Items> = TEXTS
            .iter()
            .zip(self.texts)
            .map(|(system, texts)| texts_of(*system, texts))
            .collect();
        let system = |system, values| Items::new(ItemType::System(system), values);
        parts.push(system(
            System::Boolean,
            Values::Boolean(BooleanArray::from(self.booleans)),
        ));
        parts.push(system(
            System::Integer,
            Values::Integer(Int32Array::from(self.integers)),
        ));
        let value = StringArray::from(self.quantities.0);
        let unit = StringArray::from(self.quantities.1);
        parts.push(system(System::Quantity, Values::Quantity { value, unit }));
        Ok(Collection::mixed(Offsets::list(self.offsets), parts, self.places))
    }
}

/// Returns texts as items of a System type that is stored as text.
fn texts_of(system: System, texts: Vec<String>) -> Items {
    let text = StringArray::from(texts);
    let values = match system {
        System::Decimal | System::Long => Values::Decimal {
            text: Some(text),
            number: None,
        },
        System::String => Values::Text(text),
        _ => Values::Temporal {
            text: Some(text),
            start: None,
            end: None,
        },
    };
    Items::new(ItemType::System(system), values)
}
