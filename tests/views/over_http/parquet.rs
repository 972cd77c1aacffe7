//! Parquet from `ViewDefinition/$run`: the types of its columns, and the rows that wait for them.

use arrow::datatypes::DataType;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use tabularium::http::Limits;

use super::run;
use crate::harness::server::Server;

/// A view's answer in a format, which further parameters may follow: its status, its Content-Type and its bytes.
fn asked(server: &Server, format: &str, view: &Value) -> (u16, String, Vec<u8>) {
    let bearer = format!("Bearer {}", server.application_token());
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/fhir+json"),
    ];
    let path = format!("/fhir/ViewDefinition/$run?_format={format}");
    let body = run::parameters(view, &[]);
    let (status, headers, bytes) = server.send_bytes("POST", &path, &headers, body.as_bytes());
    (status, headers["content-type"].to_str().unwrap().to_owned(), bytes)
}

fn reader(bytes: Vec<u8>) -> ParquetRecordBatchReaderBuilder<Bytes> {
    ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap()
}

#[test]
fn parquet_has_the_types_of_the_values_and_text_on_request() {
    let server = run::server();
    for (format, expected) in [
        ("parquet", DataType::Decimal128(18, 1)),
        ("parquet-text", DataType::Utf8),
    ] {
        let (status, content_type, bytes) = asked(&server, format, &run::view());
        assert_eq!((status, &*content_type), (200, "application/vnd.apache.parquet"));
        let reader = reader(bytes);
        let value = reader.schema().field_with_name("value").unwrap();
        assert_eq!(value.data_type(), &expected, "{format}");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 4);
    }
}

/// Rows of typed Parquet waited in a temporary file without a limit, so one request could fill the disk.
#[test]
fn rows_that_wait_for_their_types_have_a_limit_which_the_answer_names() {
    let over = |resources: &[Value], view_spool: u64, view_spools: u64| {
        let limits = Limits {
            view_spool,
            view_spools,
            ..Limits::default()
        };
        Server::limited(resources, limits)
    };
    // About 24 MB of text, more than waits in memory.
    let long = "long ".repeat(1_000);
    let mut resources: Vec<Value> = (0..4_800)
        .map(|number| run::observation(&format!("o{number}"), "anna", 1.5))
        .collect();
    for resource in &mut resources {
        resource["code"]["text"] = json!(long);
    }
    let view = json!({"resourceType": "ViewDefinition", "resource": "Observation", "status": "active",
        "select": [{"column": [{"name": "text", "path": "code.text"},
            {"name": "value", "path": "value.ofType(Quantity).value", "type": "decimal"}]}]});

    let server = over(&resources, 10 << 20, 1 << 30);
    let (status, _, bytes) = asked(&server, "parquet", &view);
    let outcome: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((status, &outcome["issue"][0]["code"]), (422, &json!("too-costly")));
    assert_eq!(
        outcome["issue"][0]["details"]["text"],
        "rows wait until the types of the Parquet columns are known, and they take more than 10 MiB; ask for parquet-text, \
         whose rows do not wait, or for fewer rows"
    );
    // There is no such limit for fewer rows, or for formats whose rows do not wait.
    for format in ["parquet-text", "csv", "parquet&_limit=10"] {
        assert_eq!(asked(&server, format, &view).0, 200, "{format}");
    }
    drop(server);

    let server = over(&resources, 1 << 30, 10 << 20);
    let (status, _, bytes) = asked(&server, "parquet", &view);
    let outcome: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((status, &outcome["issue"][0]["code"]), (429, &json!("throttled")));
    drop(server);

    // The rows in the file are compressed, so they count less than in memory. They count only until they are sent.
    let server = over(&resources, 64 << 20, 64 << 20);
    for _ in 0..3 {
        let (status, _, bytes) = asked(&server, "parquet", &view);
        assert_eq!(status, 200);
        assert_eq!(reader(bytes).metadata().file_metadata().num_rows(), 4_800);
    }
}

#[test]
fn a_limit_of_zero_gives_a_file_without_rows() {
    let server = run::server();
    for format in ["parquet&_limit=0", "parquet-text&_limit=0"] {
        let (status, _, bytes) = asked(&server, format, &run::view());
        assert_eq!(status, 200, "{format}");
        assert_eq!(reader(bytes).metadata().file_metadata().num_rows(), 0, "{format}");
    }
}

#[test]
fn a_value_that_does_not_fit_its_tag_is_named_by_its_resource() {
    let server = run::server();
    let view = json!({"resourceType": "ViewDefinition", "resource": "Observation", "status": "active", "name": "small",
        "select": [{"column": [{"name": "value", "path": "value.ofType(Quantity).value",
            "tag": [{"name": "ansi/type", "value": "DECIMAL(3,1)"}]}]}]});
    let (status, _, _) = asked(&server, "parquet", &view);
    assert_eq!(status, 200);
    let fitting = json!("DECIMAL(2,1)");
    let mut narrow = view.clone();
    narrow["select"][0]["column"][0]["tag"][0]["value"] = fitting;
    let (status, _, bytes) = asked(&server, "parquet", &narrow);
    let answer = String::from_utf8_lossy(&bytes);
    assert_eq!(status, 422, "{answer}");
    assert!(
        answer.contains("is to be DECIMAL(2,1), but one of its values cannot be (in Observation/"),
        "{answer}"
    );
    assert!(!answer.contains("70.5") && !answer.contains("90.5"), "{answer}");
}
