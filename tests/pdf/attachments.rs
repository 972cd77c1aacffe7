//! Attached documents: real ones, and the messages for those that cannot be shown.

use tabularium::pdf::{Attachment, Outcome};

use super::content::assert_content;
use super::reading::{assert_in_order, document, pages, text};
use crate::harness::shared;

pub(super) fn attachment(name: &str, content_type: Option<&str>, bytes: &[u8]) -> Attachment {
    Attachment {
        title: name.to_owned(),
        content_type: content_type.map(str::to_owned),
        url: None,
        bytes: bytes.to_vec(),
    }
}

pub(crate) fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap() {
        "rtf" => "application/rtf",
        "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "text/xml",
        "png" => "image/png",
        other => panic!("{other}"),
    }
}

/// The real attachments and C-CDA documents, by name.
pub(crate) fn real_files() -> Vec<(String, Vec<u8>)> {
    let data = shared().join("data");
    let mut files = Vec::new();
    for folder in ["attachments", "ccda"] {
        for entry in std::fs::read_dir(data.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension != "md") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                files.push((name, std::fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn every_real_attachment_is_shown_or_appended() {
    let files = real_files();
    assert!(files.len() >= 25, "{}", files.len());
    for (name, bytes) in files {
        let mut document = document();
        document.heading(1, &name);
        let outcome = document.attachment(attachment(&name, Some(content_type(&name)), &bytes));
        assert!(
            matches!(outcome, Outcome::Shown | Outcome::Appended { .. }),
            "{name}: {outcome:?}"
        );
        let written = document.page_count();
        let file = document.finish().unwrap();
        assert_eq!(pages(&file).len(), written + outcome.pages(), "{name}");
        assert_content(&name, &bytes, &file);
    }
}

#[test]
fn pages_of_a_pdf_stand_where_they_were_appended_and_the_file_claims_no_more_than_it_keeps() {
    let mut inner = document();
    inner.paragraph("inner one");
    inner.page_break();
    inner.paragraph("inner two");
    let inner = inner.finish().unwrap();
    let mut outer = document();
    outer.paragraph("before");
    outer.attachment(attachment("a.pdf", None, &inner));
    outer.paragraph("between");
    outer.attachment(attachment("b.pdf", Some("application/octet-stream"), &inner));
    let file = outer.finish().unwrap();
    assert_in_order(
        &file,
        &["before", "inner one", "inner two", "between", "inner one", "inner two"],
    );
    assert_eq!(pages(&file).len(), 6);
    assert!(!String::from_utf8_lossy(&file).contains("<pdfuaid:part>"));
}

#[test]
fn what_cannot_be_shown_says_so_and_keeps_the_original() {
    let cases: [(&str, Option<&str>, &[u8], &str); 5] = [
        (
            "x.dcm",
            Some("application/dicom"),
            b"DICM",
            "documents of this type are not shown",
        ),
        (
            "x.xml",
            Some("text/xml"),
            b"<ClinicalDocument><a>",
            "could not be parsed: it ends before its elements do",
        ),
        (
            "x.pdf",
            Some("application/pdf"),
            b"%PDF-1.4 nothing",
            "the PDF is damaged",
        ),
        (
            "x.png",
            Some("image/png"),
            b"\x89PNG\r\n\x1a\nxxxx",
            "the picture is damaged",
        ),
        ("x.rtf", Some("text/rtf"), b"plain", "it is no RTF document"),
    ];
    for (name, content_type, bytes, reason) in cases {
        let mut document = document();
        let mut given = attachment(name, content_type, bytes);
        given.url = Some("https://example.org/x".to_owned());
        // Only what should have been shown is a loss.
        let outcome = document.attachment(given);
        match content_type {
            Some("application/dicom") => assert_eq!(outcome, Outcome::Placeholder),
            _ => assert!(outcome.loss().is_some_and(|loss| loss.contains(reason)), "{outcome:?}"),
        }
        let file = document.finish().unwrap();
        assert_in_order(
            &file,
            &[
                reason,
                content_type.unwrap(),
                "https://example.org/x",
                "attached to this file",
            ],
        );
        assert!(keeps(&file, bytes), "{name}");
    }
}

/// Whether a file contains bytes as they are, such as an embedded original.
pub(super) fn keeps(file: &[u8], bytes: &[u8]) -> bool {
    let read = lopdf::Document::load_mem(file).unwrap();
    let mut streams = read.objects.values().filter_map(|object| object.as_stream().ok());
    streams.any(|stream| stream.get_plain_content().is_ok_and(|content| content == bytes))
}

/// The faces of a file's fonts.
fn faces(file: &[u8]) -> Vec<String> {
    let read = lopdf::Document::load_mem(file).unwrap();
    let names = read.objects.values().filter_map(|object| {
        let name = object.as_dict().ok()?.get(b"FontName").ok()?.as_name().ok()?;
        Some(String::from_utf8_lossy(name).into_owned())
    });
    names.collect()
}

/// Texts were set in a proportional face, so the columns of their tables did not stand below each other.
#[test]
fn plain_texts_keep_their_columns() {
    let table = "Sodium      140\n  (serum)    4.5\tmmol/l\n\u{5d0} and \u{1f48a}\n";
    let html = format!("<p>Results</p><pre>\n{table}</pre>");
    for (content_type, text) in [("text/plain", table), ("text/html", &html)] {
        let mut document = document();
        let outcome = document.attachment(attachment("a", Some(content_type), text.as_bytes()));
        assert_eq!(outcome, Outcome::Shown);
        let file = document.finish().unwrap();
        assert_in_order(&file, &["Sodium 140", "(serum) 4.5 mmol/l", "\u{5d0} and \u{1f48a}"]);
        // Letters that the monospaced face lacks come from the other one.
        let faces = faces(&file);
        for face in ["DejaVuSansMono", "DejaVuSans"] {
            assert!(faces.iter().any(|name| name.ends_with(face)), "{faces:?}");
        }
    }
}

/// Each entry of a document may name its author, and the head named the author as often. Text in cells outside of a
/// table was lost.
#[test]
fn a_c_cda_names_an_author_once_and_shows_all_cells() {
    let author =
        "<author><assignedAuthor><assignedPerson><name>DrRuiz</name></assignedPerson></assignedAuthor></author>";
    let document_text = format!(
        "<?xml version=\"1.0\"?><ClinicalDocument xmlns=\"urn:hl7-org:v3\"><title>Visit</title>{author}{author}\
         <component><structuredBody><component><section><title>Results</title>\
         <text><tr><td>Sodium</td><td>140</td></tr></text></section></component></structuredBody></component>\
         </ClinicalDocument>"
    );
    let mut document = document();
    let outcome = document.attachment(attachment("a.xml", Some("text/xml"), document_text.as_bytes()));
    assert_eq!(outcome, Outcome::Shown);
    let file = document.finish().unwrap();
    assert_eq!(text(&file).matches("DrRuiz").count(), 1);
    assert_in_order(&file, &["Author", "DrRuiz", "Results", "Sodium", "140"]);
}
