//! The columns of items, as Arrow arrays. `items` says which slots are items, and in which order.

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StructArray,
};
use arrow::datatypes::{DataType, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType};

/// The column that holds items of one type. If the slot of an item is null, the item is a primitive element without a
/// value. An optional array is `None` if the batch lacks the column.
#[derive(Clone, Debug)]
pub enum Values {
    /// Strings, codes, URIs and other texts.
    Text(StringArray),
    /// Booleans.
    Boolean(BooleanArray),
    /// Integers.
    Integer(Int32Array),
    /// Decimals.
    Decimal {
        /// The text as written.
        text: Option<StringArray>,
        /// The number in units of 10^-18. Null if the number cannot be represented exactly.
        number: Option<Decimal128Array>,
    },
    /// Dates, dateTimes, instants and times. The bounds of dates, dateTimes and instants are in UTC microseconds. The
    /// bounds of times are in microseconds since midnight.
    Temporal {
        /// The text as written.
        text: Option<StringArray>,
        /// The inclusive lower bound.
        start: Option<Int64Array>,
        /// The exclusive upper bound.
        end: Option<Int64Array>,
    },
    /// Quantities of FHIRPath's own type: literals and results of computations.
    Quantity {
        /// The number as text.
        value: StringArray,
        /// The UCUM code, or a calendar unit as a word. Null if there is no unit.
        unit: StringArray,
    },
    /// Complex elements.
    Struct(StructArray),
    /// The rows of a table: whole resources.
    Record(RecordBatch),
    /// The JSON text of whole resources.
    Json(StringArray),
}

impl Values {
    /// Returns the number of slots.
    pub fn len(&self) -> usize {
        match self {
            Values::Text(array) | Values::Json(array) => array.len(),
            Values::Boolean(array) => array.len(),
            Values::Integer(array) => array.len(),
            Values::Decimal { text, number } => text
                .as_ref()
                .map(Array::len)
                .or_else(|| number.as_ref().map(Array::len))
                .unwrap_or(0),
            Values::Temporal { text, start, end } => {
                let bound = start.as_ref().or(end.as_ref()).map(Array::len);
                text.as_ref().map(Array::len).or(bound).unwrap_or(0)
            }
            Values::Quantity { value, .. } => value.len(),
            Values::Struct(array) => array.len(),
            Values::Record(batch) => batch.num_rows(),
        }
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the texts of a column of texts, JSON, decimals, dates or times. `None` for other columns, or if the
    /// batch lacks the texts.
    pub fn text(&self) -> Option<&StringArray> {
        match self {
            Values::Text(array) | Values::Json(array) => Some(array),
            Values::Decimal { text, .. } | Values::Temporal { text, .. } => text.as_ref(),
            _ => None,
        }
    }

    /// Whether the slot holds a value. For a struct, whether the element exists.
    pub(in crate::fhirpath) fn is_valid(&self, slot: usize) -> bool {
        match self {
            Values::Text(array) | Values::Json(array) => array.is_valid(slot),
            Values::Boolean(array) => array.is_valid(slot),
            Values::Integer(array) => array.is_valid(slot),
            Values::Decimal { text, number } => match text {
                Some(text) => text.is_valid(slot),
                None => number.as_ref().is_some_and(|number| number.is_valid(slot)),
            },
            Values::Temporal { text, start, end } => match (text, start.as_ref().or(end.as_ref())) {
                (Some(text), _) => text.is_valid(slot),
                (None, Some(bound)) => bound.is_valid(slot),
                (None, None) => false,
            },
            Values::Quantity { value, .. } => value.is_valid(slot),
            Values::Struct(array) => array.is_valid(slot),
            Values::Record(_) => true,
        }
    }

    /// Returns the number of slots without a value.
    pub(in crate::fhirpath) fn null_count(&self) -> usize {
        match self {
            Values::Text(array) | Values::Json(array) => array.null_count(),
            Values::Boolean(array) => array.null_count(),
            Values::Integer(array) => array.null_count(),
            Values::Decimal { text, number } => match text {
                Some(text) => text.null_count(),
                None => number.as_ref().map_or(0, Array::null_count),
            },
            Values::Temporal { text, start, end } => match (text, start.as_ref().or(end.as_ref())) {
                (Some(text), _) => text.null_count(),
                (None, bound) => bound.map_or(0, Array::null_count),
            },
            Values::Quantity { value, .. } => value.null_count(),
            Values::Struct(array) => array.null_count(),
            Values::Record(_) => 0,
        }
    }

    pub(in crate::fhirpath) fn slice(&self, offset: usize, length: usize) -> Values {
        match self {
            Values::Text(array) => Values::Text(array.slice(offset, length)),
            Values::Json(array) => Values::Json(array.slice(offset, length)),
            Values::Boolean(array) => Values::Boolean(array.slice(offset, length)),
            Values::Integer(array) => Values::Integer(array.slice(offset, length)),
            Values::Decimal { text, number } => Values::Decimal {
                text: text.as_ref().map(|array| array.slice(offset, length)),
                number: number.as_ref().map(|array| array.slice(offset, length)),
            },
            Values::Temporal { text, start, end } => Values::Temporal {
                text: text.as_ref().map(|array| array.slice(offset, length)),
                start: start.as_ref().map(|array| array.slice(offset, length)),
                end: end.as_ref().map(|array| array.slice(offset, length)),
            },
            Values::Quantity { value, unit } => Values::Quantity {
                value: value.slice(offset, length),
                unit: unit.slice(offset, length),
            },
            Values::Struct(array) => Values::Struct(array.slice(offset, length)),
            Values::Record(batch) => Values::Record(batch.slice(offset, length)),
        }
    }
}

/// Returns a column of text as `Utf8`. A reader may have returned it as a view or a dictionary. `None` for other
/// columns.
pub(in crate::fhirpath) fn text_array(array: &ArrayRef) -> Option<StringArray> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().clone()),
        _ => cast(array, &DataType::Utf8).map(|array| array.as_string::<i32>().clone()),
    }
}

pub(in crate::fhirpath) fn boolean_array(array: &ArrayRef) -> Option<BooleanArray> {
    array.as_boolean_opt().cloned()
}

pub(in crate::fhirpath) fn integer_array(array: &ArrayRef) -> Option<Int32Array> {
    match array.data_type() {
        DataType::Int32 => array.as_primitive_opt::<Int32Type>().cloned(),
        _ => cast(array, &DataType::Int32)?.as_primitive_opt::<Int32Type>().cloned(),
    }
}

pub(in crate::fhirpath) fn number_array(array: &ArrayRef) -> Option<Decimal128Array> {
    array.as_primitive_opt::<Decimal128Type>().cloned()
}

/// Returns a column of lower or upper bounds as integers. The bounds of dates are stored as timestamps, and those of
/// times as integers. Both count microseconds.
pub(in crate::fhirpath) fn bound_array(array: &ArrayRef) -> Option<Int64Array> {
    if let Some(stamps) = array.as_primitive_opt::<TimestampMicrosecondType>() {
        return Some(stamps.reinterpret_cast::<Int64Type>());
    }
    array.as_primitive_opt::<Int64Type>().cloned()
}

fn cast(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Utf8View | DataType::LargeUtf8 | DataType::Dictionary(_, _) | DataType::Int64 | DataType::Int16 => {
            arrow::compute::cast(array, to).ok()
        }
        _ => None,
    }
}
