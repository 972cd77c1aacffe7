//! Rows are computed as they are taken, by several threads, in the order of the resources.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tabularium::views::{Document, Format, Refused, Rows, RunError};

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
    let documents = (0..60).map(|part| Ok(Lines::new(part * 1000..part * 1000 + 1000)));
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
        Ok(Lines::new(part * 20_000..part * 20_000 + 20_000))
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
        let endless = (0..).map(|part: usize| Ok(Lines::new(part * 1000..part * 1000 + 1000)));
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
fn an_error_of_the_input_ends_the_output() {
    let documents = (0..9).map(|part| match part {
        4 => Err(RunError::Input("the disk is gone".to_owned())),
        _ => Ok(Lines::new(part..part + 1)),
    });
    let mut pieces = Rows::of_documents(ids(), documents, None).pieces(Format::Csv { header: true });
    let mut text = Vec::new();
    let error = loop {
        match pieces.next() {
            Some(Ok(piece)) => text.extend(piece),
            Some(Err(error)) => break error.to_string(),
            None => panic!("the error was lost"),
        }
    };
    assert_eq!(error, "the disk is gone");
    assert_eq!(text, b"id\np0\np1\np2\np3\n");
    assert!(pieces.next().is_none());
}
