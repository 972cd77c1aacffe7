//! Columns of the types that views declare, read back from Parquet. Text formats keep the written values.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use tabularium::views::{Format, View};

use super::{rows_of, view, written};

const OBSERVATION: &str = r#"{"resourceType":"Observation","id":"o","status":"final","code":{"text":"text"},
    "effectiveDateTime":"2024-02-29T23:30:00.120-05:00","issued":"2024-02-29T10:00:00+01:00",
    "valueQuantity":{"value":100.10},"component":[{"valueQuantity":{"value":1.005}},{"valueQuantity":{"value":2}},
    {"valueInteger":7},{"valueBoolean":true},{"valueTime":"10:00:01"}]}"#;
const EMPTY: &str = r#"{"resourceType":"Observation","id":"p"}"#;

fn of(columns: Value) -> Arc<View> {
    view(&json!({"resource": "Observation", "select": [{"column": columns}]}))
}

/// A column with a type hint.
fn hinted(name: &str, path: &str, ty: &str) -> Value {
    json!({"name": name, "path": path, "tag": [{"name": "ansi/type", "value": ty}]})
}

fn parquet(view: &Arc<View>) -> Result<RecordBatch, String> {
    let mut bytes = Vec::new();
    let rows = rows_of(view, &[OBSERVATION, EMPTY]);
    rows.write(Format::Parquet, &mut bytes)
        .map_err(|error| error.to_string())?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    Ok(reader.build().unwrap().next().unwrap().unwrap())
}

#[test]
fn type_hints_decide_the_types_of_parquet() {
    let value = "value.ofType(Quantity).value";
    let view = of(json!([
        hinted("decimal", value, "DECIMAL(10,2)"),
        hinted("double", value, "DOUBLE PRECISION"),
        hinted("real", value, "REAL"),
        hinted("small", "component.value.ofType(integer)", "SMALLINT"),
        hinted("big", "component.value.ofType(integer)", "BIGINT"),
        hinted("flag", "component.value.ofType(boolean)", "BOOLEAN"),
        hinted("day", "effective.ofType(dateTime)", "DATE"),
        hinted("moment", "effective.ofType(dateTime)", "TIMESTAMP WITH TIME ZONE"),
        hinted("utc", "effective.ofType(dateTime)", "TIMESTAMP"),
        hinted("time", "component.value.ofType(time)", "TIME"),
        hinted("short", "code.text", "VARCHAR(4)"),
        {"name": "list", "path": "component.value.ofType(Quantity).value", "collection": true,
            "tag": [{"name": "ansi/type", "value": "DECIMAL(10,2)"}, {"name": "other", "value": "x"}]},
        {"name": "issued", "path": "issued"},
        {"name": "count", "path": "component.count()", "type": "integer64"},
        {"name": "plain", "path": value},
    ]));
    let batch = parquet(&view).unwrap();
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("decimal").data_type(), &DataType::Decimal128(10, 2));
    assert_eq!(column("decimal").as_primitive::<Decimal128Type>().value(0), 10010);
    assert_eq!(column("double").as_primitive::<Float64Type>().value(0), 100.1);
    assert_eq!(column("real").as_primitive::<Float32Type>().value(0), 100.1);
    assert_eq!(column("small").as_primitive::<Int16Type>().value(0), 7);
    assert_eq!(column("big").as_primitive::<Int64Type>().value(0), 7);
    assert!(column("flag").as_boolean().value(0));
    // The written date, although it is the next day in UTC.
    assert_eq!(column("day").as_primitive::<Date32Type>().value(0), 19_782);
    let moment = 1_709_267_400_120_000;
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    assert_eq!(column("moment").data_type(), &utc);
    assert_eq!(
        column("moment").as_primitive::<TimestampMicrosecondType>().value(0),
        moment
    );
    assert_eq!(
        column("utc").data_type(),
        &DataType::Timestamp(TimeUnit::Microsecond, None)
    );
    assert_eq!(
        column("utc").as_primitive::<TimestampMicrosecondType>().value(0),
        moment
    );
    assert_eq!(
        column("time").as_primitive::<Time64MicrosecondType>().value(0),
        36_001_000_000
    );
    assert_eq!(column("short").as_string::<i32>().value(0), "text");
    let list = column("list").as_list::<i32>().value(0);
    assert_eq!(list.as_primitive::<Decimal128Type>().values().to_vec(), [101, 200]);
    assert_eq!(column("issued").data_type(), &utc);
    assert_eq!(column("count").as_primitive::<Int64Type>().value(0), 5);
    assert_eq!(column("plain").as_string::<i32>().value(0), "100.10");
    for name in [
        "decimal", "double", "small", "flag", "day", "moment", "time", "short", "issued",
    ] {
        assert!(column(name).is_null(1), "{name}");
    }
    let schema = batch.schema();
    let metadata = schema.field_with_name("list").unwrap().metadata();
    assert_eq!(metadata["tag:ansi/type"], "DECIMAL(10,2)");
    assert_eq!(metadata["tag:other"], "x");
    assert_eq!(metadata["fhir_type"], "decimal");
}

#[test]
fn text_keeps_what_was_written_whatever_the_hint() {
    let view = of(json!([
        hinted("decimal", "value.ofType(Quantity).value", "DECIMAL(10,1)"),
        hinted("day", "effective.ofType(dateTime)", "DATE"),
        {"name": "issued", "path": "issued"},
    ]));
    let text = written(rows_of(&view, &[OBSERVATION]), Format::Csv { header: false }).unwrap();
    assert_eq!(text, "100.10,2024-02-29T23:30:00.120-05:00,2024-02-29T10:00:00+01:00\n");
}

#[test]
fn a_value_that_cannot_be_of_its_type_is_named_by_column_and_type() {
    for (path, ty) in [
        ("code.text", "DATE"),
        ("code.text", "INTEGER"),
        ("code.text", "VARCHAR(3)"),
        ("code.text", "DECIMAL(10,2)"),
        ("'2024-02'", "DATE"),
        ("'2024'", "TIMESTAMP"),
        ("value.ofType(Quantity).value", "INTEGER"),
        ("value.ofType(Quantity).value", "DECIMAL(3,2)"),
        ("40000", "SMALLINT"),
        ("'%%'", "BINARY VARYING"),
    ] {
        let view = of(json!([{"name": "id", "path": "id"}, hinted("c", path, ty)]));
        let shown = ty.replace("VARCHAR", "CHARACTER VARYING");
        let expected =
            format!("ViewDefinition.select[0].column[1]: column 'c' is to be {shown}, but one of its values cannot be");
        assert_eq!(parquet(&view).unwrap_err(), expected);
        assert!(written(rows_of(&view, &[OBSERVATION]), Format::Json).is_ok());
    }
}

#[test]
fn values_that_do_not_suit_are_named_by_the_branch_they_stand_in() {
    let view = view(&json!({"resource": "Observation", "select": [{"unionAll": [
        {"column": [{"name": "c", "path": "id"}]},
        {"column": [{"name": "c", "path": "component.value.ofType(Quantity).value.toString()"}]},
    ]}, {"select": [{"column": [{"name": "d", "path": "id"}]}]}]}));
    let error = written(rows_of(&view, &[OBSERVATION]), Format::Json);
    assert!(
        error
            .as_ref()
            .is_err_and(|error| error.contains("ViewDefinition.select[0].unionAll[1].column[0].path")),
        "{error:?}"
    );
}

/// Real views join numbers and booleans; that used to fail the run.
#[test]
fn numbers_and_booleans_are_joined_as_they_are_written() {
    let view = of(json!([
        {"name": "numbers", "path": "(value.ofType(Quantity).value | component.value.ofType(integer)).join('/')"},
        {"name": "flags", "path": "component.value.ofType(boolean).join()"},
    ]));
    let text = written(rows_of(&view, &[OBSERVATION]), Format::Csv { header: false }).unwrap();
    assert_eq!(text, "100.10/7,true\n");
}

/// The ballot's form of a view, the older form, and one with all kinds of metadata give the same rows.
#[test]
fn all_forms_of_a_view_run() {
    let body = json!({"status": "active", "resource": "Observation",
        "constant": [{"name": "big", "valueInteger64": "5000000000"}, {"name": "final", "valueCode": "final"}],
        "where": [{"path": "status = %final", "description": "only those"}],
        "select": [{"column": [{"name": "id", "path": "getResourceKey()", "type": "string"},
            {"name": "big", "path": "%big", "type": "integer64"}]}]});
    let forms = [
        json!({"resourceType": "ViewDefinition", "resourceDefinition": "http://hl7.org/fhir/StructureDefinition/ViewDefinition|3.0.0-ballot",
            "identifier": [{"value": "x"}], "author": [{"name": "a"}], "effectivePeriod": {"start": "2024"},
            "profile": ["http://hl7.org/fhir/StructureDefinition/Observation"]}),
        json!({"resourceType": "https://sql-on-fhir.org/ig/StructureDefinition/ViewDefinition", "identifier": {"value": "x"},
            "meta": {"profile": ["https://sql-on-fhir.org/ig/StructureDefinition/TabularViewDefinition"]}}),
        json!({"text": {"status": "generated", "div": "<div/>"}, "extension": [{"url": "x", "valueString": "y"}]}),
    ];
    for mut form in forms {
        form.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let checked = View::check(form.to_string().as_bytes());
        assert_eq!(checked.errors().count(), 0, "{:?}", checked.findings());
        let view = Arc::new(checked.into_view().unwrap());
        let text = written(rows_of(&view, &[OBSERVATION, EMPTY]), Format::Ndjson).unwrap();
        assert_eq!(text, "{\"id\":\"o\",\"big\":5000000000}\n");
    }
}
