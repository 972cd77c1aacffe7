//! Rows are computed on demand by several threads, in the order of the resources.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch};
use serde_json::json;
use tabularium::http::Limits;
use tabularium::views::{Document, Format, Refused, Resources, Rows, RunError};

use super::super::over_http;
use super::super::{run, view};
use crate::harness::records::{self, Record};
use crate::harness::server::Server;

/// NDJSON of patients with consecutive numbers.
struct Lines(Vec<u8>);

impl Lines {
    fn new(numbers: std::ops::Range<usize>) -> Lines {
        let line = |number: usize| format!("{{\"resourceType\":\"Patient\",\"id\":\"p{number}\"}}\n");
        Lines(numbers.map(line).collect::<String>().into_bytes())
    }
}

impl Document for Lines {
    fn text(&self) -> &[u8] {
        &self.0
    }

    fn is_lines(&self) -> bool {
        true
    }

    fn refuse(&self, _: usize, reason: Refused) {
        panic!("a resource was refused: {reason}");
    }
}

fn ids() -> Arc<tabularium::views::View> {
    view(&json!({"resource": "Patient", "select": [{"column": [{"name": "id", "path": "id"}]}]}))
}

#[test]
fn rows_keep_the_order_of_the_resources() {
    let documents = (0..60).map(|part| Lines::new(part * 1000..part * 1000 + 1000));
    let mut text = Vec::new();
    Rows::of_documents(ids(), documents, None)
        .write(Format::Csv { header: false }, &mut text)
        .unwrap();
    let expected: String = (0..60_000).map(|number| format!("p{number}\n")).collect();
    assert!(String::from_utf8(text).unwrap() == expected);
}

#[test]
fn the_first_rows_leave_before_the_input_ends_and_a_reader_who_leaves_stops_it() {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    let (told, stopped) = std::sync::mpsc::channel::<()>();
    let endless = (0..).map(move |part: usize| {
        let _told_when_dropped = &told;
        counted.fetch_add(1, Ordering::Relaxed);
        Lines::new(part * 20_000..part * 20_000 + 20_000)
    });
    let mut pieces = Rows::of_documents(ids(), endless, None).pieces(Format::Ndjson);
    let first = pieces.next().unwrap().unwrap();
    assert!(first.starts_with(b"{\"id\":\"p0\"}\n{\"id\":\"p1\"}\n"));
    // Reading ahead is bounded.
    assert!(
        read.load(Ordering::Relaxed) < 50,
        "{} documents",
        read.load(Ordering::Relaxed)
    );
    drop(pieces);
    // The channel closes when the threads have released the input.
    stopped.recv().unwrap_err();
}

/// A lake of many files. A view multiplies its rows to gigabytes.
pub(in crate::views) fn flood(limits: Limits) -> Server {
    let server = Server::limited(&[], limits);
    for file in 0..20 {
        let patients = (0..50).map(|number| {
            let id = format!("p{file:02}-{number:02}");
            Record::new(json!({"resourceType": "Patient", "id": id})).of(&server.lake, &id)
        });
        records::commit(&server.lake, &patients.collect::<Vec<_>>());
    }
    server
}

/// Rows of half a kilobyte, `width` squared per resource.
pub(in crate::views) fn flooding(width: usize) -> serde_json::Value {
    let numbers: Vec<String> = (0..width).map(|number| format!("'{number}'")).collect();
    let each = |name: &str| json!({"forEach": format!("({})", numbers.join("|")), "column": [{"name": name, "path": "$this"}]});
    json!({"resourceType": "ViewDefinition", "resource": "Patient", "status": "active", "select": [
        {"column": [{"name": "pad", "path": format!("'{}'", "x".repeat(500))}, {"name": "id", "path": "id"}]},
        each("a"), each("b")]})
}

pub(in crate::views) fn request(token: &str, view: &serde_json::Value) -> String {
    let body = json!({"resourceType": "Parameters", "parameter": [{"name": "viewResource", "resource": view}]});
    let body = body.to_string();
    format!(
        "POST /fhir/ViewDefinition/$run?_format=csv HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The id of the last resource. Files are ordered by owner, which differs between lakes.
fn last_of(server: &Server, token: &str) -> String {
    let ids = json!({"resourceType": "ViewDefinition", "resource": "Patient", "status": "active",
        "select": [{"column": [{"name": "id", "path": "id"}]}]});
    let body = over_http::run::parameters(&ids, &[]);
    let text = over_http::run::post(server, token, "/fhir/ViewDefinition/$run?_format=csv", "*/*", &body).text;
    text.lines().last().unwrap().to_owned()
}

/// The head of a response and the beginning of its body.
fn beginning(stream: &mut TcpStream, min_length: usize) -> String {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    while read.len() < min_length {
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "the answer ended: {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// Only one view may run at a time, so the refusal of the next one shows that the first still runs.
#[test]
fn an_answer_begins_before_the_scan_ends_and_a_client_that_hangs_up_stops_it() {
    let server = flood(Limits {
        views: 1,
        patience: Duration::from_millis(50),
        ..Limits::default()
    });
    let token = server.application_token();
    let mut client = TcpStream::connect(server.address).unwrap();
    client.write_all(request(&token, &flooding(64)).as_bytes()).unwrap();
    let begun = beginning(&mut client, 4_000);
    assert!(begun.starts_with("HTTP/1.1 200"), "{begun}");
    assert!(
        begun.contains("transfer-encoding: chunked") && begun.contains("x-resource-count: 1000"),
        "{begun}"
    );
    assert!(begun.contains("pad,id,a,b\nxxx"), "{begun}");
    let probe = json!({"resourceType": "ViewDefinition", "resource": "Patient", "status": "active",
        "select": [{"column": [{"name": "id", "path": "id"}]}]});
    let next = || {
        let mut client = TcpStream::connect(server.address).unwrap();
        client.write_all(request(&token, &probe).as_bytes()).unwrap();
        beginning(&mut client, 12)[9..12].to_owned()
    };
    assert_eq!(next(), "429", "what nobody has read yet cannot have been computed");
    drop(client);
    let turned_away = (0..).take_while(|_| next() == "429").take(400).count();
    assert!(turned_away < 400, "the view goes on though nobody reads it");
}

/// An answer with an error after its first rows must not look complete.
#[test]
fn an_error_behind_the_first_rows_breaks_the_connection_off() {
    let server = flood(Limits::default());
    let token = server.application_token();
    let mut broken = flooding(8);
    let last = last_of(&server, &token);
    broken["select"][1]["column"][0]["path"] = json!(format!("iif(%resource.id = '{last}', 'a' | 'b', $this)"));
    let mut client = TcpStream::connect(server.address).unwrap();
    client.write_all(request(&token, &broken).as_bytes()).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let (mut length, mut tail) = (0, Vec::new());
    loop {
        let count = match client.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        if length == 0 {
            assert!(
                buffer.starts_with(b"HTTP/1.1 200"),
                "{}",
                String::from_utf8_lossy(&buffer[..count])
            );
        }
        length += count;
        tail = buffer[count.saturating_sub(5)..count].to_vec();
    }
    assert!(length > 1 << 20, "{length} bytes");
    assert_ne!(tail, b"0\r\n\r\n", "a chunked answer that is whole ends so");
}

#[test]
fn a_run_over_a_lake_stops_when_it_is_told_to() {
    let server = flood(Limits::default());
    let mut where_true = flooding(64);
    where_true["where"] = json!([{"path": "id.exists()"}]);
    for definition in [flooding(64), where_true] {
        let view = view(&definition);
        let run = run(
            &server.lake,
            &records::application("local"),
            &view,
            &Resources::default(),
            None,
        );
        let mut batches = run.rows().batches();
        assert!(batches.next().unwrap().is_ok());
        run.stop().ask();
        // Rows that threads have already computed still arrive.
        let last = batches.find(Result::is_err);
        assert!(matches!(last, Some(Err(RunError::Stopped))), "{last:?}");
    }
}

#[test]
fn a_limit_ends_an_endless_input() {
    for (limit, format) in [(3, Format::Json), (25_000, Format::Json), (0, Format::Json)] {
        let endless = (0..).map(|part: usize| Lines::new(part * 1000..part * 1000 + 1000));
        let mut text = Vec::new();
        Rows::of_documents(ids(), endless, Some(limit))
            .write(format, &mut text)
            .unwrap();
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
        assert_eq!(rows.len(), limit);
        assert!(
            rows.iter()
                .enumerate()
                .all(|(number, row)| row["id"] == format!("p{number}"))
        );
    }
}

#[test]
fn an_error_stands_behind_the_rows_before_it_and_ends_the_output() {
    let one = view(&json!({"resource": "Patient",
        "select": [{"column": [{"name": "id", "path": "iif(id = 'p3000', id | 'x', id)"}]}]}));
    let documents = (0..9).map(|part| Lines::new(part * 20_000..part * 20_000 + 20_000));
    let documents = std::iter::once(Lines::new(0..1)).chain(documents);
    let mut pieces = Rows::of_documents(one, documents, None).pieces(Format::Csv { header: true });
    let mut text = Vec::new();
    let error = loop {
        match pieces.next() {
            Some(Ok(piece)) => text.extend(piece),
            Some(Err(error)) => break error.to_string(),
            None => panic!("the error was lost"),
        }
    };
    assert!(
        error.starts_with("ViewDefinition.select[0].column[0].path: column 'id' has 2 values in one row"),
        "{error}"
    );
    assert!(
        text.starts_with(b"id\n") && text.len() < 100_000,
        "{} bytes",
        text.len()
    );
    assert!(pieces.next().is_none());
}

#[test]
fn resources_that_multiply_to_very_many_rows_are_taken_apart() {
    let names: Vec<serde_json::Value> = (0..300).map(|number| json!({"family": format!("f{number}")})).collect();
    let patient = |id: usize| json!({"resourceType": "Patient", "id": id.to_string(), "name": names}).to_string();
    let text: String = (0..20).map(|id| patient(id) + "\n").collect();
    let pairs = view(&json!({"resource": "Patient", "select": [
        {"column": [{"name": "id", "path": "id"}]},
        {"forEach": "name", "column": [{"name": "a", "path": "family"}]},
        {"forEach": "name", "column": [{"name": "b", "path": "family"}]}]}));
    let mut rows = 0;
    for batch in Rows::of_documents(pairs, std::iter::once(Lines(text.into_bytes())), None).batches() {
        rows += batch.unwrap().num_rows();
    }
    assert_eq!(rows, 20 * 300 * 300);
    let text = patient(0).into_bytes();
    let cube = |depth: usize| {
        let each = (0..depth)
            .map(|place| json!({"forEach": "name", "column": [{"name": format!("c{place}"), "path": "family"}]}));
        view(&json!({"resource": "Patient", "select": each.collect::<Vec<_>>()}))
    };
    let mut squares = Rows::of_documents(cube(2), std::iter::once(Lines(text.clone())), None).batches();
    assert_eq!(
        squares
            .try_fold(0, |rows, batch| batch.map(|batch| rows + batch.num_rows()))
            .unwrap(),
        300 * 300
    );
    let mut many = Rows::of_documents(cube(3), std::iter::once(Lines(text)), None).batches();
    assert!(
        many.find_map(Result::err)
            .unwrap()
            .to_string()
            .contains("too many rows")
    );
}

#[test]
fn what_one_resource_may_give_is_bounded_by_rows_and_columns() {
    let each = |place: usize, items: usize| {
        let items: Vec<String> = (0..items).map(|item| format!("'{item}'")).collect();
        json!({"forEach": format!("({})", items.join("|")), "column": [{"name": format!("c{place}"), "path": "$this"}]})
    };
    let siblings = |places: std::ops::Range<usize>, items: usize| -> serde_json::Value {
        places.map(|place| each(place, items)).collect()
    };
    let nested = |depth: usize| {
        (0..depth).fold(json!([]), |inner, place| {
            let mut select = each(place, 2);
            select["select"] = inner;
            json!([select])
        })
    };
    let rows = |select: serde_json::Value| {
        let view = view(&json!({"resource": "Patient", "select": select}));
        let mut batches = Rows::of_documents(view, std::iter::once(Lines::new(0..1)), None).batches();
        batches
            .try_fold(0, |rows, batch| batch.map(|batch| rows + batch.num_rows()))
            .map_err(|error| error.without_resource().to_string())
    };
    let refused = Err("the view yields too many rows for one of the resources".to_owned());
    assert_eq!(rows(siblings(0..3, 8)), Ok(512));
    assert_eq!(rows(siblings(0..16, 2)), Ok(1 << 16));
    assert_eq!(rows(nested(12)), Ok(1 << 12));
    assert_eq!(rows(siblings(0..24, 2)), refused);
    // A million rows, but with twenty columns.
    assert_eq!(rows(siblings(0..20, 2)), refused);
    assert_eq!(rows(nested(24)), refused);
    // The result size of the innermost list is known before it is built.
    let long = (0..4).fold(json!([]), |inner, place| {
        let mut select = each(place, 90);
        select["select"] = inner;
        json!([select])
    });
    assert_eq!(rows(long), refused);
    // Each select alone is small enough, but all together are not.
    let many = (0..8).map(|select| json!({"select": siblings(select * 16..select * 16 + 16, 2)}));
    assert_eq!(rows(many.collect()), refused);
}

fn first_error(mut batches: impl Iterator<Item = Result<RecordBatch, RunError>>) -> Option<String> {
    let error = batches.find_map(Result::err);
    error.map(|error| error.without_resource().to_string())
}

/// A text in all rows of one resource made batches of gigabytes from a small input.
#[test]
fn text_is_bounded_by_what_the_rows_take() {
    let text = "x".repeat(1 << 20);
    let resource = json!({"resourceType": "Patient", "id": "p", "name": [{"text": text}]}).to_string();
    let list = |items: usize| {
        let items: Vec<String> = (0..items).map(|item| item.to_string()).collect();
        format!("'{}'.split(',')", items.join(","))
    };
    let repeated = |items: &[usize], more: Option<serde_json::Value>| {
        let column = json!({"column": [{"name": "text", "path": "%resource.name.text"}]});
        let text: serde_json::Value = std::iter::once(column).chain(more).collect();
        let select = items.iter().enumerate().fold(text, |inner, (place, items)| {
            let column = json!([{"name": format!("c{place}"), "path": "$this"}]);
            json!([{"forEach": list(*items), "column": column, "select": inner}])
        });
        let view = view(&json!({"resource": "Patient", "select": select}));
        Rows::of_documents(view, std::iter::once(Lines(resource.clone().into_bytes())), None).batches()
    };
    let mut rows = 0;
    for batch in repeated(&[100], None) {
        let batch = batch.unwrap();
        rows += batch.num_rows();
        let bytes = batch
            .column_by_name("text")
            .unwrap()
            .as_string::<i32>()
            .value_data()
            .len();
        assert!(bytes <= 16 << 20, "{bytes} bytes in one batch");
    }
    assert_eq!(rows, 100);
    let refused = Some("the view yields too much text for one of the resources".to_owned());
    assert_eq!(first_error(repeated(&[40, 40], None)), refused);
    // The branches of a union are copied together.
    let twice = json!({"unionAll": [{"column": [{"name": "u", "path": "%resource.name.text"}]},
        {"column": [{"name": "u", "path": "%resource.name.text"}]}]});
    assert_eq!(first_error(repeated(&[100], Some(twice))), refused);
}
