//! The contents of a row's columns as plain JSON (see `from_text`).

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Decimal128Type, FieldRef, Int32Type, TimestampMicrosecondType};
use serde_json::{Map, Value};

const SYSTEM: [&str; 10] = [
    "owner",
    "patient",
    "application",
    "authorization",
    "endpoint",
    "version",
    "last_updated",
    "digest",
    "shared_refs",
    "resource",
];

pub(crate) fn row(batch: &RecordBatch, row: usize) -> Value {
    let schema = batch.schema();
    let elements: Vec<(&FieldRef, &ArrayRef)> = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .filter(|(field, _)| !SYSTEM.contains(&field.name().as_str()))
        .collect();
    object(&elements, row)
}

fn object(columns: &[(&FieldRef, &ArrayRef)], row: usize) -> Value {
    let mut object = Map::new();
    for (field, array) in columns {
        let name = field.name().strip_suffix("__element").unwrap_or(field.name());
        if name.contains("__") || array.is_null(row) {
            continue;
        }
        let number = format!("{}__number", field.name());
        let decimal = columns.iter().any(|(field, _)| *field.name() == number);
        object.insert(name.to_owned(), value(array, row, decimal));
    }
    Value::Object(object)
}

fn value(array: &ArrayRef, row: usize, decimal: bool) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 if decimal => format!("#{}", array.as_string::<i32>().value(row)).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Struct(fields) => object(&fields.iter().zip(array.as_struct().columns()).collect::<Vec<_>>(), row),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len())
                .map(|item| value(&items, item, decimal))
                .collect::<Vec<_>>()
                .into()
        }
        other => panic!("an element of type {other}"),
    }
}

/// Compares the companions of all texts with the texts.
pub(crate) fn check_companions(batch: &RecordBatch) {
    check_fields(batch.schema().fields(), batch.columns());
}

fn check_fields(fields: &[FieldRef], columns: &[ArrayRef]) {
    let find = |name: String| {
        fields
            .iter()
            .position(|field| *field.name() == name)
            .map(|at| &columns[at])
    };
    for (field, array) in fields.iter().zip(columns) {
        let (name, mut array) = (field.name(), array.clone());
        let companion = |suffix: &str| {
            let companion = find(format!("{name}{suffix}"))?;
            if let (Some(list), Some(of)) = (companion.as_list_opt::<i32>(), array.as_list_opt::<i32>()) {
                assert_eq!(list.offsets(), of.offsets(), "{name}{suffix}");
                return Some(list.values().clone());
            }
            Some(companion.clone())
        };
        let (number, start, end) = (companion("__number"), companion("__start"), companion("__end"));
        let reference = companion("__type").zip(companion("__id"));
        if let Some(list) = array.as_list_opt::<i32>() {
            array = list.values().clone();
        }
        if let DataType::Struct(fields) = array.data_type() {
            check_fields(fields, array.as_struct().columns());
        }
        let Some(text) = array.as_string_opt::<i32>() else {
            continue;
        };
        if let Some(number) = number {
            check_numbers(text, &number);
        }
        if let Some((start, end)) = start
            .zip(end)
            .filter(|(start, _)| matches!(start.data_type(), DataType::Timestamp(..)))
        {
            check_bounds(text, &start, &end);
        }
        if let Some((resource_type, id)) = reference {
            check_references(text, resource_type.as_string(), id.as_string());
        }
    }
}

fn check_numbers(text: &StringArray, number: &ArrayRef) {
    for (text, number) in text.iter().zip(number.as_primitive::<Decimal128Type>()) {
        match (text, number) {
            (Some(text), Some(number)) => {
                let value: f64 = text.parse().unwrap();
                assert!(
                    (number as f64 / 1e18 - value).abs() <= value.abs() * 1e-9,
                    "{text}: {number}"
                );
            }
            (Some(text), None) => {
                let value: f64 = text.parse().unwrap();
                let digits = text
                    .split(['e', 'E'])
                    .next()
                    .unwrap_or_default()
                    .bytes()
                    .filter(u8::is_ascii_digit)
                    .count();
                assert!(
                    value.abs() >= 1e19 || digits > 18 || text.contains(['e', 'E']),
                    "{text} has a number"
                );
            }
            (None, number) => assert!(number.is_none()),
        }
    }
}

fn check_bounds(text: &StringArray, start: &ArrayRef, end: &ArrayRef) {
    let bounds = start
        .as_primitive::<TimestampMicrosecondType>()
        .iter()
        .zip(end.as_primitive::<TimestampMicrosecondType>());
    for (text, (start, end)) in text.iter().zip(bounds) {
        assert_eq!(start.is_some(), end.is_some());
        assert!(start <= end, "{text:?}");
        let Some(text) = text else {
            assert!(start.is_none());
            continue;
        };
        if let Ok(instant) = chrono::DateTime::parse_from_rfc3339(text) {
            let (start, end) = (start.unwrap_or_default(), end.unwrap_or_default());
            let micros = instant.timestamp_micros();
            // The two libraries disagree on a second of 60.
            assert!(
                text.contains(":60") || (start <= micros && micros < end && end - start <= 1_000_000),
                "{text}: {start} {end}"
            );
        } else if let Ok(day) = text
            .parse::<chrono::NaiveDate>()
            .map(|day| day.and_time(Default::default()))
        {
            assert_eq!(start, Some(day.and_utc().timestamp_micros()), "{text}");
            assert_eq!(
                end.zip(start).map(|(end, start)| end - start),
                Some(86_400_000_000),
                "{text}"
            );
        }
    }
}

fn check_references(text: &StringArray, resource_type: &StringArray, id: &StringArray) {
    for (text, (resource_type, id)) in text.iter().zip(resource_type.iter().zip(id)) {
        assert_eq!(resource_type.is_some(), id.is_some());
        if let (Some(resource_type), Some(id)) = (resource_type, id) {
            let parts: Vec<&str> = text.unwrap_or_default().split('/').collect();
            assert_eq!(parts[..2], [resource_type, id], "{text:?}");
        } else if let Some(text) = text {
            let relative = text.split_once('/').is_some_and(|(resource_type, id)| {
                tabularium::fhir::facts()
                    .resources()
                    .any(|known| tabularium::fhir::facts().get(known).name == resource_type)
                    && (1..=64).contains(&id.len())
                    && id
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
            });
            assert!(!relative, "{text} is relative");
        }
    }
}
