//! Attached documents: real ones, damaged ones, and ones that mean harm.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tabularium::pdf::{Attachment, Outcome};

use super::reading::{assert_in_order, document, pages, text};
use crate::harness::shared;

fn attachment(name: &str, content_type: Option<&str>, bytes: &[u8]) -> Attachment {
    Attachment {
        title: name.to_owned(),
        content_type: content_type.map(str::to_owned),
        url: None,
        bytes: bytes.to_vec(),
    }
}

fn content_type(name: &str) -> &'static str {
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
fn real_files(test: &str) -> Option<Vec<(String, Vec<u8>)>> {
    let data = shared(test)?.join("data");
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
    Some(files)
}

#[test]
fn every_real_attachment_is_shown_or_appended() {
    const TEST: &str = "every_real_attachment_is_shown_or_appended";
    let Some(files) = real_files(TEST) else { return };
    assert!(files.len() >= 25, "{}", files.len());
    for (name, bytes) in files {
        let mut document = document();
        document.heading(1, &name);
        let outcome = document.attachment(attachment(&name, Some(content_type(&name)), &bytes));
        assert_ne!(outcome, Outcome::Placeholder, "{name}");
        let written = document.page_count();
        let file = document.finish().unwrap();
        let appended = if let Outcome::Appended { pages } = outcome {
            pages
        } else {
            0
        };
        assert_eq!(pages(&file).len(), written + appended, "{name}");
        assert!(text(&file).len() > name.len() + 15, "{name}");
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
        assert_eq!(document.attachment(given), Outcome::Placeholder, "{name}");
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
        let read = lopdf::Document::load_mem(&file).unwrap();
        let originals = read.objects.values().filter_map(|object| object.as_stream().ok());
        let is_kept = originals
            .into_iter()
            .any(|stream| stream.get_plain_content().is_ok_and(|content| content == bytes));
        assert!(is_kept, "{name}");
    }
}

#[test]
fn bombs_end_as_placeholders() {
    // A PNG head that promises 100,000 by 100,000 pixels.
    let mut huge = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    huge.extend([0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0, 8, 2, 0, 0, 0, 0, 0, 0, 0]);
    let entities =
        "<!DOCTYPE l [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">]><ClinicalDocument>&b;</ClinicalDocument>";
    let wrapped = "<ClinicalDocument><component><nonXMLBody><text mediaType=\"text/xml\">&lt;ClinicalDocument&gt;&lt;component&gt;&lt;nonXMLBody&gt;\
        &lt;text mediaType=\"text/xml\"&gt;x&lt;/text&gt;&lt;/nonXMLBody&gt;&lt;/component&gt;&lt;/ClinicalDocument&gt;</text></nonXMLBody></component></ClinicalDocument>";
    for (name, content_type, bytes) in [
        ("a.png", "image/png", huge.as_slice()),
        ("b.xml", "text/xml", entities.as_bytes()),
        ("c.xml", "text/xml", wrapped.as_bytes()),
    ] {
        let mut document = document();
        assert_eq!(
            document.attachment(attachment(name, Some(content_type), bytes)),
            Outcome::Placeholder,
            "{name}"
        );
        document.finish().unwrap();
    }
}

/// A thousand attachments, each damaged in one of four ways, a third of them with a wrong type.
#[test]
fn damaged_attachments_end_as_content_or_placeholder() {
    const TEST: &str = "damaged_attachments_end_as_content_or_placeholder";
    let Some(files) = real_files(TEST) else { return };
    let files: Vec<_> = files.into_iter().filter(|(_, bytes)| bytes.len() < 200_000).collect();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for round in 0..100 {
        let mut document = document();
        for _ in 0..10 {
            let (name, bytes) = &files[random.random_range(0..files.len())];
            let bytes = damaged(bytes, &mut random);
            let of = if random.random_bool(0.3) {
                &files[random.random_range(0..files.len())].0
            } else {
                name
            };
            document.heading(2, name);
            document.attachment(attachment(name, Some(content_type(of)), &bytes));
        }
        let file = document.finish().unwrap_or_else(|error| panic!("{round}: {error}"));
        assert!(!lopdf::Document::load_mem(&file).unwrap().get_pages().is_empty());
    }
}

fn damaged(bytes: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = random.random_range(0..bytes.len());
    match random.random_range(0..4) {
        0 => bytes.truncate(at),
        1 => {
            for _ in 0..random.random_range(1..50) {
                let place = random.random_range(0..bytes.len());
                bytes[place] ^= 1 << random.random_range(0..8);
            }
        }
        2 => {
            let length = random.random_range(0..=bytes.len() - at);
            bytes.drain(at..at + length);
        }
        _ => bytes[at..].reverse(),
    }
    bytes
}
