//! Columns of the types that views declare, read back from Parquet. Text formats keep the written values.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use tabularium::views::{Format, Rows, View};

use super::super::commands::run::{tabularium, text};
use super::super::{rows_of, view, written};
use crate::harness::shared;

const OBSERVATION: &str = r#"{"resourceType":"Observation","id":"o","status":"final","code":{"text":"text"},
    "effectiveDateTime":"2024-02-29T23:30:00.120-05:00","issued":"2024-02-29T10:00:00+01:00",
    "valueQuantity":{"value":100.10},"component":[{"valueQuantity":{"value":1.005}},{"valueQuantity":{"value":2}},
    {"valueInteger":7},{"valueBoolean":true},{"valueTime":"10:00:01"}]}"#;
const EMPTY: &str = r#"{"resourceType":"Observation","id":"p"}"#;

fn of(columns: Value) -> Arc<View> {
    view(&json!({"resource": "Observation", "select": [{"column": columns}]}))
}

/// A column with a type hint.
fn hinted(name: &str, path: &str, fhir_type: &str) -> Value {
    json!({"name": name, "path": path, "tag": [{"name": "ansi/type", "value": fhir_type}]})
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
    assert_eq!(column("plain").data_type(), &DataType::Decimal128(18, 2));
    assert_eq!(column("plain").as_primitive::<Decimal128Type>().value(0), 10010);
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

/// Rows as Parquet, read back as one batch.
fn read_back(rows: Rows, format: Format) -> RecordBatch {
    let mut bytes = Vec::new();
    rows.write(format, &mut bytes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    // The batches are without the file's metadata.
    concat_batches(&schema, &batches).unwrap()
}

/// An Observation with a value, a time and components.
fn observation(id: usize, effective: &str, value: &str, components: &[&str]) -> String {
    let components: Vec<String> = components
        .iter()
        .map(|value| format!(r#"{{"code":{{"text":"c"}},"valueQuantity":{{"value":{value}}}}}"#))
        .collect();
    format!(
        r#"{{"resourceType":"Observation","id":"{id}","status":"final","code":{{"text":"{text}"}},"effectiveDateTime":"{effective}","valueQuantity":{{"value":{value}}},"component":[{components}]}}"#,
        text = "long ".repeat(id % 7),
        components = components.join(",")
    )
}

fn measured() -> Arc<View> {
    of(json!([
        {"name": "id", "path": "id"},
        {"name": "at", "path": "effective.ofType(dateTime)"},
        {"name": "value", "path": "value.ofType(Quantity).value"},
        {"name": "parts", "path": "component.value.ofType(Quantity).value", "collection": true},
        {"name": "text", "path": "code.text"},
        {"name": "count", "path": "component.count()"},
        {"name": "many", "path": "component.exists()"},
    ]))
}

#[test]
fn declared_types_are_those_of_parquet_where_all_values_fit() {
    let view = measured();
    let texts = [
        observation(1, "2024-02-29T23:30:00.12-05:00", "100.10", &["1", "2.5"]),
        observation(2, "2024-03-01T00:00:00Z", "-7", &[]),
    ];
    let rows = || rows_of(&view, &texts.each_ref().map(String::as_str));
    let batch = read_back(rows(), Format::Parquet);
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    assert_eq!(column("at").data_type(), &utc);
    let moments = column("at").as_primitive::<TimestampMicrosecondType>();
    assert_eq!(
        moments.values().to_vec(),
        [1_709_267_400_120_000, 1_709_251_200_000_000]
    );
    assert_eq!(column("value").data_type(), &DataType::Decimal128(18, 2));
    assert_eq!(
        column("value").as_primitive::<Decimal128Type>().values().to_vec(),
        [10_010, -700]
    );
    let parts = column("parts").as_list::<i32>();
    assert_eq!(parts.value(0).data_type(), &DataType::Decimal128(18, 1));
    assert_eq!(
        parts.value(0).as_primitive::<Decimal128Type>().values().to_vec(),
        [10, 25]
    );
    assert_eq!(parts.value(1).len(), 0);
    assert_eq!(column("text").data_type(), &DataType::Utf8);
    assert_eq!(column("count").data_type(), &DataType::Int32);
    assert_eq!(column("many").data_type(), &DataType::Boolean);

    // On request they are as they were written.
    let batch = read_back(rows(), Format::ParquetText);
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("at").as_string::<i32>().value(0), "2024-02-29T23:30:00.12-05:00");
    assert_eq!(column("value").as_string::<i32>().value(0), "100.10");
    assert_eq!(
        column("parts").as_list::<i32>().value(0).as_string::<i32>().value(1),
        "2.5"
    );
    assert_eq!(column("count").data_type(), &DataType::Int32);
}

#[test]
fn a_column_that_its_values_do_not_fit_is_text_and_says_why() {
    let date = |text: &str| observation(1, text, "1", &[]);
    let moment = "2024-02-29T23:30:00Z";
    for (first, second, expected) in [
        (date("2024-02-29"), date("2024-03-01"), Ok(DataType::Date32)),
        (
            date("2024-02-29"),
            date(moment),
            Err("some of its values are dates and some have a time"),
        ),
        (date(moment), date("2024"), Err("some of its dates have no day")),
        (
            date(moment),
            date("2024-02-29T10:00:00"),
            Err("some of its times have no zone"),
        ),
        (
            date(moment),
            date("2024-02-29T10:00:00.1234567Z"),
            Err("some of its times have no seconds, a leap second, or more than six decimals"),
        ),
        (
            date(moment),
            date("2016-12-31T23:59:60Z"),
            Err("some of its times have no seconds, a leap second, or more than six decimals"),
        ),
        (
            date(moment),
            date("9999-12-31T23:59:59-12:00"),
            Err("some of its times are not in the years 1 to 9999 of UTC"),
        ),
        (
            date(moment),
            date("0001-01-01T00:00:00+14:00"),
            Err("some of its times are not in the years 1 to 9999 of UTC"),
        ),
    ] {
        let batch = read_back(rows_of(&measured(), &[&first, &second]), Format::Parquet);
        told(&batch, "at", expected);
        told(&batch, "value", Ok(DataType::Decimal128(18, 0)));
    }
    let long = observation(1, moment, "12345678901234567890", &["1"]);
    let fine = observation(2, moment, "0.12345678901234567891", &["1e-39"]);
    let batch = read_back(rows_of(&measured(), &[&long, &fine]), Format::Parquet);
    let digits = Err("its decimals need more than 38 digits");
    told(&batch, "value", digits.clone());
    told(&batch, "parts", digits);
    assert_eq!(
        batch.column_by_name("value").unwrap().as_string::<i32>().value(1),
        "0.12345678901234567891"
    );
    // The types are those of the rows that are written.
    let documents = [long, fine].map(|text| super::super::Resource(text.into_bytes()));
    let rows = Rows::of_documents(measured(), documents.into_iter(), Some(1));
    let batch = read_back(rows, Format::Parquet);
    told(&batch, "value", Ok(DataType::Decimal128(38, 0)));
    told(&batch, "parts", Ok(DataType::Decimal128(18, 0)));
}

/// The type of a column, or why it is text.
fn told(batch: &RecordBatch, name: &str, expected: Result<DataType, &str>) {
    let schema = batch.schema();
    let field = schema.field_with_name(name).unwrap();
    let data_type = match field.data_type() {
        DataType::List(item) => item.data_type(),
        data_type => data_type,
    };
    let found = match field.metadata().get("why_text") {
        Some(why) => {
            assert_eq!(data_type, &DataType::Utf8);
            Err(why.as_str())
        }
        None => Ok(data_type.clone()),
    };
    assert_eq!(found, expected, "{name}");
}

/// More rows than are held in memory wait in a file.
#[test]
fn many_rows_are_typed_in_their_order() {
    let long = "0123456789".repeat(50);
    let texts: Vec<String> = (0..40_000)
        .map(|id| {
            format!(r#"{{"resourceType":"Observation","valueQuantity":{{"value":{id}.5}},"code":{{"text":"{long}"}}}}"#)
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let view = of(json!([
        {"name": "value", "path": "value.ofType(Quantity).value"},
        {"name": "long", "path": "code.text"},
    ]));
    let batch = read_back(rows_of(&view, &texts), Format::Parquet);
    assert!(batch.get_array_memory_size() > 16 << 20);
    let values = batch.column_by_name("value").unwrap();
    assert_eq!(values.data_type(), &DataType::Decimal128(18, 1));
    let values = values.as_primitive::<Decimal128Type>().values();
    assert!(values.iter().copied().eq((0..40_000).map(|id| id * 10 + 5)));
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn real_records_have_the_types_of_their_declarations() {
    let shared = shared();
    let out = tempfile::tempdir().unwrap();
    let out = out.path().to_str().unwrap();
    let run = |more: &[&str]| {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
        let input = shared.join("data/synthea-2021");
        let input = input.to_str().unwrap();
        let arguments = ["run", "--views", examples, "--input", input, "--out", out];
        let found = tabularium(&[&arguments, more].concat());
        assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
        text(&found.stderr)
    };
    let read = |name: &str| {
        let file = std::fs::File::open(format!("{out}/{name}")).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let schema = reader.schema().clone();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        concat_batches(&schema, &batches).unwrap()
    };
    run(&[]);
    let said = run(&["--format", "parquet"]);
    assert_eq!(said, "");
    let patients = read("patient-demographics.parquet");
    told(&patients, "born", Ok(DataType::Date32));
    let pressures = read("blood-pressure.parquet");
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    told(&pressures, "taken", Ok(utc));
    let typed = pressures.column_by_name("value").unwrap();
    assert!(
        matches!(typed.data_type(), DataType::Decimal128(18, _)),
        "{:?}",
        typed.data_type()
    );
    // Each number is the one that the text says.
    let mut rows = csv::Reader::from_path(format!("{out}/blood-pressure.csv")).unwrap();
    let at = rows.headers().unwrap().iter().position(|name| name == "value").unwrap();
    let written: Vec<f64> = rows.records().map(|row| row.unwrap()[at].parse().unwrap()).collect();
    let typed = arrow::compute::cast(typed, &DataType::Float64).unwrap();
    assert_eq!(typed.as_primitive::<Float64Type>().values().to_vec(), written);
    assert!(written.len() > 10, "{}", written.len());
}

#[test]
fn warnings_name_columns_that_are_text_and_text_is_had_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let people = "{\"resourceType\":\"Patient\",\"id\":\"a\",\"birthDate\":\"1970-01\"}\n\
                  {\"resourceType\":\"Patient\",\"id\":\"b\",\"birthDate\":\"1970-01-02\"}\n";
    std::fs::write(path("people.ndjson"), people).unwrap();
    let (input, out) = (path("people.ndjson"), path("people.parquet"));
    let run = |more: &[&str]| {
        let arguments = [
            "run",
            "Patient",
            "--column",
            "born=birthDate",
            "--input",
            &input,
            "--out",
            &out,
        ];
        let found = tabularium(&[&arguments, more].concat());
        (found.status.code(), text(&found.stderr))
    };
    let warning = "tabularium: warning: Patient: column 'born' is text in Parquet: some of its dates have no day\n";
    assert_eq!(run(&[]), (Some(0), warning.to_owned()));
    assert_eq!(run(&["--text"]), (Some(0), String::new()));
    let (code, said) = run(&["--text", "--format", "csv"]);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
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
    for (path, sql_type) in [
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
        let view = of(json!([{"name": "id", "path": "id"}, hinted("c", path, sql_type)]));
        let shown = sql_type.replace("VARCHAR", "CHARACTER VARYING");
        let expected =
            format!("ViewDefinition.select[0].column[1]: column 'c' is to be {shown}, but one of its values cannot be");
        assert_eq!(parquet(&view).unwrap_err(), expected);
        let named = parquet(&view.for_documents(Format::Parquet)).unwrap_err();
        assert_eq!(named, format!("{expected} (in Observation/o)"));
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
