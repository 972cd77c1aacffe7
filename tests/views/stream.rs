//! Rows are computed as they are taken, by several threads, in the order of the resources.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tabularium::views::{Document, Format, Refused, Rows};

use super::view;

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
    let endless = (0..).map(move |part: usize| {
        counted.fetch_add(1, Ordering::Relaxed);
        Lines::new(part * 20_000..part * 20_000 + 20_000)
    });
    let mut pieces = Rows::of_documents(ids(), endless, None).pieces(Format::Ndjson);
    let first = pieces.next().unwrap().unwrap();
    assert!(first.starts_with(b"{\"id\":\"p0\"}\n{\"id\":\"p1\"}\n"));
    // What has been read ahead of the reader is bounded.
    assert!(
        read.load(Ordering::Relaxed) < 50,
        "{} documents",
        read.load(Ordering::Relaxed)
    );
    drop(pieces);
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
    assert!(error.starts_with("column 'id' has 2 values in one row"), "{error}");
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
            .map_err(|error| error.to_string())
    };
    let refused = Err("the view yields too many rows for one of the resources".to_owned());
    assert_eq!(rows(siblings(0..3, 8)), Ok(512));
    assert_eq!(rows(siblings(0..16, 2)), Ok(1 << 16));
    assert_eq!(rows(nested(12)), Ok(1 << 12));
    assert_eq!(rows(siblings(0..24, 2)), refused);
    // A million rows, but of twenty columns.
    assert_eq!(rows(siblings(0..20, 2)), refused);
    assert_eq!(rows(nested(24)), refused);
    // Each select by itself would do, all of them do not.
    let many = (0..8).map(|select| json!({"select": siblings(select * 16..select * 16 + 16, 2)}));
    assert_eq!(rows(many.collect()), refused);
}
