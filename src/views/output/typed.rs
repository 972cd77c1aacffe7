//! Converts values to their columns' SQL types, for formats with types. If a type cannot hold a value, the error
//! names the column and the type. A decimal is rounded to the scale of its type, half away from zero, as SQL does. A
//! moment without a zone counts as UTC. A TIMESTAMP without time zone holds the moment in UTC. A DATE holds the date
//! as it is written, even if a time follows.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray, BooleanBuilder, Date32Builder, Decimal128Builder,
    Float32Builder, Float64Builder, Int16Builder, Int32Array, Int32Builder, Int64Builder, ListArray, RecordBatch,
    StringArray, StringBuilder, Time64MicrosecondBuilder, TimestampMicrosecondBuilder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Int32Type, Schema, SchemaRef};
use base64::Engine;

use crate::fhir::decimal::Decimal;
use crate::fhir::temporal::{Precision, Temporal, TimeOfDay};
use crate::views::definition::column::{Column, item_field};
use crate::views::definition::kind::Kind;
use crate::views::definition::sql_type::SqlType;
use crate::views::error::RunError;

const DAY: i64 = 86_400_000_000;

/// Returns the schema of typed rows.
pub(in crate::views) fn schema(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(Column::typed_field).collect::<Vec<_>>()))
}

/// Converts rows to the SQL types of their columns.
pub(in crate::views) fn typed(
    columns: &[Column],
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<RecordBatch, RunError> {
    let arrays = columns.iter().zip(batch.columns());
    let arrays = arrays
        .map(|(column, written)| array(column, written))
        .collect::<Result<Vec<_>, RunError>>()?;
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?)
}

/// Checks that all values of a column fit its SQL type.
pub(in crate::views) fn fits(column: &Column, written: &ArrayRef) -> Result<(), RunError> {
    array(column, written).map(drop)
}

/// Converts a column's values, or lists of them, to the column's SQL type.
pub(super) fn array(column: &Column, array: &ArrayRef) -> Result<ArrayRef, RunError> {
    let Some(list) = array.as_list_opt::<i32>() else {
        return values(column, array);
    };
    // Convert only the items of this slice. The list may also have items of rows that the limit cuts off. Their values
    // need not fit the type.
    let (first, last) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
    let items = list.values().slice(first as usize, (last - first) as usize);
    let values = values(column, &items)?;
    let offsets = match first {
        0 => list.offsets().clone(),
        first => OffsetBuffer::new(list.offsets().iter().map(|offset| offset - first).collect()),
    };
    let (field, nulls) = (item_field(column.sql.data_type()), list.nulls().cloned());
    Ok(Arc::new(ListArray::try_new(field, offsets, values, nulls)?))
}

/// The values of a column in their written form.
enum Written<'a> {
    Boolean(&'a BooleanArray),
    Integer(&'a Int32Array),
    Text(&'a StringArray),
    Token(&'a StringArray),
}

impl<'a> Written<'a> {
    fn new(kind: Kind, array: &'a ArrayRef) -> Option<Written<'a>> {
        match kind {
            Kind::Boolean => array.as_boolean_opt().map(Written::Boolean),
            Kind::Integer => array.as_primitive_opt::<Int32Type>().map(Written::Integer),
            Kind::Decimal | Kind::Text => array.as_string_opt().map(Written::Text),
            Kind::Any => array.as_string_opt().map(Written::Token),
        }
    }

    fn text(&self, row: usize) -> Cow<'a, str> {
        match self {
            Written::Boolean(array) => Cow::Borrowed(if array.value(row) { "true" } else { "false" }),
            Written::Integer(array) => Cow::Owned(array.value(row).to_string()),
            Written::Text(array) => Cow::Borrowed(array.value(row)),
            Written::Token(array) => {
                let token = array.value(row);
                serde_json::from_str::<String>(token).map_or(Cow::Borrowed(token), Cow::Owned)
            }
        }
    }
}

fn values(column: &Column, array: &ArrayRef) -> Result<ArrayRef, RunError> {
    let as_is = match column.sql {
        SqlType::Text(None) => column.kind != Kind::Any || !column.has_sql_tag(),
        SqlType::Text(Some(_)) => false,
        sql_type => sql_type.data_type() == column.kind.data_type(),
    };
    if as_is && array.data_type() == &column.sql.data_type() {
        return Ok(array.clone());
    }
    let written = Written::new(column.kind, array).ok_or_else(|| {
        let problem = format!("{} instead of {}", array.data_type(), column.kind.name());
        RunError::Arrow(arrow::error::ArrowError::SchemaError(problem))
    })?;
    build(column.sql, array.as_ref(), &written).ok_or_else(|| RunError::SqlType {
        at: column.at.clone(),
        column: column.name.clone(),
        expected: column.sql.to_string(),
    })
}

/// Converts values to a SQL type. `None` if one of them does not fit.
fn build(sql_type: SqlType, array: &dyn Array, written: &Written<'_>) -> Option<ArrayRef> {
    macro_rules! built {
        ($builder:expr, $convert:expr) => {{
            let mut builder = $builder;
            for row in 0..array.len() {
                if array.is_null(row) {
                    builder.append_null()
                } else {
                    let text = written.text(row);
                    builder.append_value($convert(&*text)?);
                }
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    Some(match sql_type {
        SqlType::Boolean => built!(BooleanBuilder::new(), |text: &str| text.parse::<bool>().ok()),
        SqlType::SmallInt => built!(Int16Builder::new(), |text: &str| i16::try_from(scaled(
            text, 38, 0, true
        )?)
        .ok()),
        SqlType::Integer => built!(Int32Builder::new(), |text: &str| i32::try_from(scaled(
            text, 38, 0, true
        )?)
        .ok()),
        SqlType::BigInt => built!(Int64Builder::new(), |text: &str| i64::try_from(scaled(
            text, 38, 0, true
        )?)
        .ok()),
        SqlType::Decimal { precision, scale } => {
            built!(
                Decimal128Builder::new().with_data_type(sql_type.data_type()),
                |text: &str| { scaled(text, precision, scale, false) }
            )
        }
        SqlType::Real => built!(Float32Builder::new(), |text: &str| float(text)
            .map(|number| number as f32)
            .filter(|number| number.is_finite())),
        SqlType::Double => built!(Float64Builder::new(), float),
        SqlType::Text(max_length) => built!(StringBuilder::new(), |text: &str| {
            let fits = max_length
                .is_none_or(|max_length| text.chars().take(max_length as usize + 1).count() <= max_length as usize);
            fits.then(|| text.to_owned())
        }),
        SqlType::Binary => built!(BinaryBuilder::new(), binary),
        SqlType::Date => built!(Date32Builder::new(), date),
        SqlType::Time => built!(Time64MicrosecondBuilder::new(), |text: &str| TimeOfDay::parse(text)
            .ok()
            .map(|time| time.start)),
        SqlType::Timestamp { .. } => built!(
            TimestampMicrosecondBuilder::new().with_data_type(sql_type.data_type()),
            moment
        ),
    })
}

/// Returns a number times 10^scale, rounded half away from zero. `None` if it has more than `precision` digits or,
/// with `exact`, if it would need rounding.
fn scaled(text: &str, precision: u8, scale: u8, exact: bool) -> Option<i128> {
    Decimal::parse(text).ok()?;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|digit| digit - b'0')
        .collect();
    // The number of digits before the decimal point after scaling.
    let kept = whole.len() as i64 + exponent.parse::<i64>().ok()? + i64::from(scale);
    let limit = 10i128.pow(u32::from(precision));
    let mut number: i128 = 0;
    let (kept_digits, rest) = digits.split_at(kept.clamp(0, digits.len() as i64) as usize);
    for digit in kept_digits {
        number = number.checked_mul(10)?.checked_add(i128::from(*digit))?;
        if number >= limit {
            return None;
        }
    }
    for _ in digits.len() as i64..kept {
        if number == 0 {
            break;
        }
        number = number.checked_mul(10)?;
        if number >= limit {
            return None;
        }
    }
    if exact && rest.iter().any(|digit| *digit != 0) {
        return None;
    }
    if kept >= 0 && rest.first().is_some_and(|digit| *digit >= 5) {
        number += 1;
    }
    (number < limit).then_some(if negative { -number } else { number })
}

fn float(text: &str) -> Option<f64> {
    Decimal::parse(text).ok()?;
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn binary(text: &str) -> Option<Vec<u8>> {
    let compact: String = text.split_ascii_whitespace().collect();
    base64::engine::general_purpose::STANDARD.decode(compact).ok()
}

/// Returns the days from 1970 to a date that has a day. For a dateTime with a time, uses the date as written.
fn date(text: &str) -> Option<i32> {
    Temporal::date_time(text).ok()?;
    let date = Temporal::date(text.get(..10)?).ok()?;
    i32::try_from(date.start.div_euclid(DAY)).ok()
}

/// Returns a moment in microseconds since 1970. For a date that has a day, returns its first moment.
fn moment(text: &str) -> Option<i64> {
    let moment = Temporal::date_time(text).ok()?;
    (moment.precision >= Precision::Day).then_some(moment.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_and_rounded_or_refused() {
        for (text, precision, scale, exact, expected) in [
            ("100.10", 10, 2, false, Some(10010)),
            ("100.105", 10, 2, false, Some(10011)),
            ("-100.105", 10, 2, false, Some(-10011)),
            ("0.004", 10, 2, false, Some(0)),
            ("0.0009", 10, 2, false, Some(0)),
            ("0.05", 10, 1, false, Some(1)),
            ("0.05", 10, 0, false, Some(0)),
            ("9.995", 3, 2, false, None),
            ("99.995", 4, 2, false, None),
            ("1E3", 10, 2, false, Some(100_000)),
            ("1.5e-3", 10, 4, false, Some(15)),
            ("5e-1", 1, 0, false, Some(1)),
            ("1e999999999", 38, 0, false, None),
            ("0e999999999", 38, 0, false, Some(0)),
            ("1e-999999999", 38, 18, false, Some(0)),
            (
                "99999999999999999999999999999999999999",
                38,
                0,
                false,
                Some(10i128.pow(38) - 1),
            ),
            ("100000000000000000000000000000000000000", 38, 0, false, None),
            ("0.123456789012345678", 38, 18, false, Some(123456789012345678)),
            ("7", 38, 0, true, Some(7)),
            ("7.0", 38, 0, true, Some(7)),
            ("7.5", 38, 0, true, None),
            ("0.05", 38, 0, true, None),
            ("x", 38, 0, false, None),
            ("1_0", 38, 0, false, None),
        ] {
            assert_eq!(scaled(text, precision, scale, exact), expected, "{text}");
        }
    }

    #[test]
    fn dates_and_moments_are_whole() {
        assert_eq!(date("1970-01-02"), Some(1));
        assert_eq!(date("1969-12-31"), Some(-1));
        assert_eq!(date("1970-01-02T23:30:00-05:00"), Some(1));
        for text in ["1970", "1970-01", "1970-02-30", "01-02-1970", "hello world", "ééééééé"] {
            assert_eq!(date(text), None, "{text}");
        }
        assert_eq!(moment("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(moment("1970-01-01"), Some(0));
        assert_eq!(moment("1970-01"), None);
    }
}
