//! The output form of values: digits, dates, kinds, lists; and values that do not fit their column.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Int32Type};
use expect_test::{Expect, expect};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;
use tabularium::views::{Format, View};

use super::super::{rows_of, view, written};
use crate::harness::records::{Record, application, commit, lake};

const OBSERVATION: &str = r#"{"resourceType":"Observation","id":"o","status":"final","code":{"text":"a, \"b\""},
    "effectiveDateTime":"2024-02-29T10:00:00.120-05:00","issued":"2024-02-29T10:00:00Z",
    "valueQuantity":{"value":100.10},"component":[
    {"code":{"text":"x"},"valueQuantity":{"value":0.123456789012345678}},
    {"code":{"text":"y"},"valueQuantity":{"value":1E3}},{"code":{"text":"z"},"valueInteger":7},
    {"code":{"text":"b"},"valueBoolean":true}]}"#;

fn values() -> Arc<View> {
    view(&json!({"resource": "Observation", "select": [{"column": [
        {"name": "text", "path": "code.text"},
        {"name": "effective", "path": "effective.ofType(dateTime)", "type": "dateTime"},
        {"name": "year", "path": "issued"},
        {"name": "value", "path": "value.ofType(Quantity).value", "type": "decimal"},
        {"name": "values", "path": "component.value.ofType(Quantity).value", "collection": true},
        {"name": "count", "path": "component.value.ofType(integer)", "type": "integer"},
        {"name": "mixed", "path": "component.value.ofType(integer) | component.value.ofType(boolean) | 'text'",
            "collection": true},
        {"name": "none", "path": "component.where(false).value.ofType(boolean)", "type": "boolean"}]}]}))
}

fn check(format: Format, expected: Expect) {
    let view = values();
    expected.assert_eq(&written(rows_of(&view, &[OBSERVATION]), format).unwrap());
}

#[test]
fn values_come_out_as_they_went_in() {
    check(
        Format::Csv { header: true },
        expect![[r#"
        text,effective,year,value,values,count,mixed,none
        "a, ""b""",2024-02-29T10:00:00.120-05:00,2024-02-29T10:00:00Z,100.10,"[0.123456789012345678,1E3]",7,"[7,true,""text""]",
    "#]],
    );
    check(
        Format::Ndjson,
        expect![[r#"
        {"text":"a, \"b\"","effective":"2024-02-29T10:00:00.120-05:00","year":"2024-02-29T10:00:00Z","value":100.10,"values":[0.123456789012345678,1E3],"count":7,"mixed":[7,true,"text"],"none":null}
    "#]],
    );
}

#[test]
fn a_lake_gives_what_files_give() {
    // Serializing the resource itself would lose digits, so only the other values are compared.
    let resource = json!({"resourceType": "Observation", "id": "o", "effectiveDateTime": "2024-02", "valueQuantity": {"value": 0.5},
        "component": [{"valueInteger": 7}, {"valueBoolean": true}]});
    let (_folder, lake) = lake();
    commit(&lake, &[Record::new(resource.clone())]);
    let view = values();
    let run = super::super::run(&lake, &application("local"), &view, &Default::default(), None);
    let of_lake = written(run.rows(), Format::Ndjson).unwrap();
    assert_eq!(
        of_lake,
        written(rows_of(&view, &[&resource.to_string()]), Format::Ndjson).unwrap()
    );
    assert!(of_lake.contains(r#""effective":"2024-02""#));
}

#[test]
fn parquet_has_the_kinds_of_the_columns() {
    let view = values();
    let mut bytes = Vec::new();
    rows_of(&view, &[OBSERVATION, r#"{"resourceType":"Observation","id":"p"}"#])
        .write(Format::Parquet, &mut bytes)
        .unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))
        .unwrap()
        .build()
        .unwrap();
    let batch = reader.map(Result::unwrap).next().unwrap();
    assert_eq!(batch.num_rows(), 2);
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("count").as_primitive::<Int32Type>().value(0), 7);
    assert_eq!(column("none").data_type(), &DataType::Boolean);
    assert_eq!(column("value").data_type(), &DataType::Decimal128(18, 2));
    assert_eq!(column("value").as_primitive::<Decimal128Type>().value(0), 10_010);
    assert!(column("value").is_null(1));
    let list = column("values").as_list::<i32>().value(0);
    let expected = [123_456_789_012_345_678, 1_000 * 10i128.pow(18)];
    assert_eq!(list.as_primitive::<Decimal128Type>().values().to_vec(), expected);
    assert_eq!(column("values").as_list::<i32>().value(1).len(), 0);
    assert_eq!(
        batch.schema().field_with_name("value").unwrap().metadata()["fhir_type"],
        "decimal"
    );
}

#[test]
fn a_view_without_rows_is_a_whole_file() {
    let view = values();
    let mut bytes = Vec::new();
    rows_of(&view, &[]).write(Format::Parquet, &mut bytes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    assert_eq!(reader.schema().fields().len(), 8);
    assert_eq!(written(rows_of(&view, &[]), Format::Json).unwrap(), "[]");
    assert!(
        written(rows_of(&view, &[]), Format::Csv { header: true })
            .unwrap()
            .starts_with("text,effective")
    );
}

/// The error of one column over [`OBSERVATION`], when the view is parsed or run.
fn problem(column: serde_json::Value) -> String {
    let definition = json!({"resource": "Observation", "select": [{"column": [column]}]});
    match View::parse(definition.to_string().as_bytes()) {
        Err(error) => format!("read: {error}"),
        Ok(view) => match written(rows_of(&Arc::new(view), &[OBSERVATION]), Format::Json) {
            Err(error) => format!("run: {error}"),
            Ok(text) => format!("gave {text}"),
        },
    }
}

#[test]
fn what_does_not_suit_is_named_by_column_and_place() {
    let problems: Vec<String> = [
        json!({"name": "c", "path": "component.code.text"}),
        json!({"name": "c", "path": "code"}),
        json!({"name": "c", "path": "value"}),
        json!({"name": "c", "path": "code.text", "type": "integer"}),
        json!({"name": "c", "path": "component.value.ofType(integer)", "type": "string"}),
        json!({"name": "c", "path": "code.txt"}),
        json!({"name": "c", "path": "code.text +"}),
        json!({"name": "c", "path": "%unknown"}),
        json!({"name": "1c", "path": "code.text"}),
        json!({"name": "c", "path": "code.text", "type": "varchar"}),
    ]
    .into_iter()
    .map(problem)
    .collect();
    expect![[r#"
        run: ViewDefinition.select[0].column[0].path: column 'c' has 4 values in one row; say "collection": true or narrow its path (in Observation/o)
        read: ViewDefinition.select[0].column[0].path: column 'c': yields a CodeableConcept, which is not a primitive; choose one of its elements
        run: ViewDefinition.select[0].column[0].path: column 'c' has a Quantity as a value; choose one of its elements (in Observation/o)
        run: ViewDefinition.select[0].column[0].path: column 'c' is declared as integer, but one of its values is a string that is not (in Observation/o)
        gave [{"c":"7"}]
        read: ViewDefinition.select[0].column[0].path: column 'c': CodeableConcept has no element 'txt' (line 1, column 6); did you mean 'text'?
        read: ViewDefinition.select[0].column[0].path: column 'c': FHIRPath syntax error at line 1, column 12: unexpected end
        read: ViewDefinition.select[0].column[0].path: column 'c': %unknown is not defined (line 1, column 1)
        read: ViewDefinition.select[0].column[0].name: '1c' is no name: it may have letters, digits and underscores, a letter first
        read: ViewDefinition.select[0].column[0].type: column 'c': 'varchar' is no FHIR type"#]].assert_eq(&problems.join("\n"));
    let twice = json!({"resource": "Observation", "select": [
        {"column": [{"name": "c", "path": "id"}]}, {"column": [{"name": "c", "path": "id"}]}]});
    expect!["ViewDefinition.select[1].column[0].name: the name 'c' is taken by ViewDefinition.select[0].column[0]"]
        .assert_eq(&View::parse(twice.to_string().as_bytes()).unwrap_err().to_string());
}
