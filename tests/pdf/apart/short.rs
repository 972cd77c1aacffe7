//! Time is short: hostile attachments have used most of it. The others are still there.

use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use tabularium::patient::pdf::apart::Bounds;
use tabularium::patient::pdf::{Attached, Documents, FetchError, Form, Reader};

use super::hostile::nested;
use super::{drawn, letter, of, reader, record};
use crate::pdf::reading::{assert_in_order, text};

/// Documents by their addresses.
struct Given(Vec<(&'static str, &'static str, Vec<u8>)>);

impl Documents for Given {
    fn get(&self, url: &str, _: u64) -> Result<Attached, FetchError> {
        let (_, content_type, bytes) = self.0.iter().find(|given| given.0 == url).ok_or(FetchError::NotHeld)?;
        Ok(Attached {
            content_type: Some((*content_type).to_owned()),
            bytes: bytes.clone(),
        })
    }
}

/// The files of other types used to be packed in each trial and each file. That took all the time that the text had
/// left, so the letters were lost, too.
#[test]
fn one_hostile_file_among_large_ones_costs_no_letter() {
    let mut scan = vec![0; 10 << 20];
    ChaCha8Rng::seed_from_u64(47).fill_bytes(&mut scan);
    let (_, _, note) = letter("Note.");
    let given = Given(vec![
        (
            "Binary/text",
            "text/plain",
            "A line of words, and more.\n".repeat(260_000).into_bytes(),
        ),
        ("Binary/page", "application/pdf", nested(3)),
        (
            "Binary/rtf",
            "text/rtf",
            b"{\\rtf1 The contents of the letter.}".to_vec(),
        ),
        ("Binary/note", "text/plain", note),
        ("Binary/scan", "application/dicom", scan),
    ]);
    let attached = |at: usize, title: &str, url: &str| {
        json!({"resourceType": "DocumentReference", "id": format!("d{at:02}"),
            "content": [{"attachment": {"url": url, "title": title}}]})
    };
    let mut documents = vec![
        attached(0, "Endless", "Binary/text"),
        attached(1, "Page", "Binary/page"),
        attached(2, "Letter", "Binary/rtf"),
    ];
    documents.extend((3..27).map(|at| attached(at, &format!("Scan {at}."), "Binary/scan")));
    documents.push(attached(27, "Note", "Binary/note"));
    let record = of(documents);
    for form in [Form::Document, Form::Archive] {
        let (file, export) = drawn(&reader(), &record, &given, form).unwrap();
        assert_eq!((export.failed.len(), export.resources), (1, record.len()), "{form:?}");
        if form == Form::Archive {
            let mut archive = zip::ZipArchive::new(std::io::Cursor::new(file)).unwrap();
            let mut inner = Vec::new();
            std::io::copy(&mut archive.by_index(0).unwrap(), &mut inner).unwrap();
            check(&inner);
        } else {
            check(&file);
        }
    }
}

fn check(file: &[u8]) {
    assert_in_order(
        file,
        &[
            "Endless",
            "Not shown",
            "Page",
            "1 page follows",
            "Letter",
            "The contents of the letter.",
            "Scan 26.",
            "Not shown",
            "documents of this type are not shown",
            "The contents of Note.",
            "What is missing",
            "Endless",
        ],
    );
    // The files of other types are no losses: nothing of them would be shown anyway.
    let text = text(file);
    let missing = text.rsplit("Whatismissing").next().unwrap();
    assert!(!missing.contains("Scan"), "{missing}");
}

/// Each of these texts can be read, but not all together. No step lay between all sound attachments and none.
#[test]
fn attachments_that_are_too_much_together_cost_no_letter() {
    let long = "A line of words, and more.\n".repeat(40_000).into_bytes();
    let titles: Vec<String> = (0..8).map(|number| format!("Long {number}.")).collect();
    let mut files = vec![letter("first")];
    files.extend(titles.iter().map(|title| (title.as_str(), "text/plain", long.clone())));
    files.push(("A page", "application/pdf", nested(3)));
    let bounds = Bounds {
        memory: 128 << 20,
        attachments: Duration::from_secs(600),
        attachments_wait: Duration::from_secs(3_600),
        ..Bounds::default()
    };
    let reader = Reader { bounds, ..reader() };
    let (file, _) = drawn(&reader, &record(&files), &(), Form::Document).unwrap();
    let shown = [
        "seventy",
        "The contents of first.",
        "Long 7.",
        "Not shown",
        "1 page follows",
    ];
    assert_in_order(
        &file,
        &[&shown[..], &["What is missing", "could not be made with its documents"]].concat(),
    );
}
