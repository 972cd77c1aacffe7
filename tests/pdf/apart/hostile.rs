//! Small files that take all memory, all time or the whole stack of their reader.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;
use tabularium::patient::pdf::Form;

use super::{File, document, drawn, letter, of, reader, record};
use crate::harness::server::Server;
use crate::pdf::reading::{assert_in_order, text};

/// A PDF of one page. `entry` stands in the dictionary of the page, `further` are more objects, from number 4 on.
fn pdf(entry: &str, further: &[Vec<u8>]) -> Vec<u8> {
    let page = format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] {entry} >>").into_bytes();
    let first = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        page,
    ];
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in first.iter().chain(further).enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n", at + 1).bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1).bytes());
    for place in &places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = places.len() + 1;
    file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
    file
}

/// A page with arrays inside of arrays.
pub(super) fn nested(depth: usize) -> Vec<u8> {
    pdf(&format!("/Deep {}{}", "[".repeat(depth), "]".repeat(depth)), &[])
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// An object stream with an array of `count` numbers.
pub(super) fn numbers(count: usize) -> Vec<u8> {
    let body = format!("5 0 [{}]", "1 ".repeat(count));
    let packed = packed(body.as_bytes());
    let head = format!(
        "<< /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode /Length {} >>\nstream\n",
        packed.len()
    );
    pdf("", &[[head.into_bytes(), packed, b"\nendstream".to_vec()].concat()])
}

/// A PNG of one bit for each pixel, all black.
pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    let mut writer = encoder.write_header().unwrap();
    let mut stream = writer.stream_writer().unwrap();
    let row = vec![0; width.div_ceil(8) as usize];
    for _ in 0..height {
        stream.write_all(&row).unwrap();
    }
    stream.finish().unwrap();
    writer.finish().unwrap();
    file
}

/// A WebP without pixels whose header says that it has 16,383 by 16,383.
pub(super) fn webp() -> Vec<u8> {
    // A lossless bitstream: the signature, then the width and the height less one in 14 bits each.
    let bits: u32 = 16_382 | 16_382 << 14;
    let stream = [&[0x2f][..], &bits.to_le_bytes(), &[0; 11]].concat();
    let length = (4 + 8 + stream.len()) as u32;
    let parts: [&[u8]; 6] = [
        b"RIFF",
        &length.to_le_bytes(),
        b"WEBP",
        b"VP8L",
        &(stream.len() as u32).to_le_bytes(),
        &stream,
    ];
    parts.concat()
}

/// Hostile files of all kinds.
pub(super) fn files() -> Vec<File<'static>> {
    let rtf = [
        b"{\\rtf1 ".to_vec(),
        b"{".repeat(300_000),
        b"}".repeat(300_000),
        b"}".to_vec(),
    ]
    .concat();
    let html = "<div><table><tr><td>".repeat(60_000).into_bytes();
    let cda = format!(
        "<ClinicalDocument xmlns=\"urn:hl7-org:v3\">{}{}</ClinicalDocument>",
        "<section>".repeat(100_000),
        "</section>".repeat(100_000)
    );
    vec![
        ("Nested", "application/pdf", nested(1_000_000)),
        ("Numbers", "application/pdf", numbers(15_000_000)),
        ("Wide", "image/png", png(60_000, 60_000)),
        ("Tall", "image/webp", webp()),
        ("Braces", "application/rtf", rtf),
        ("Cells", "text/html", html),
        ("Sections", "text/xml", cda.into_bytes()),
    ]
}

/// A page with nested arrays overflowed the stack of the server, and small pictures took gigabytes.
#[test]
fn a_hostile_attachment_becomes_a_placeholder_and_the_others_stay() {
    let mut files = files();
    files.insert(1, letter("first"));
    files.push(letter("last"));
    let (file, export) = document(&files);
    assert_in_order(&file, &["Body weight", "seventy"]);
    assert_in_order(
        &file,
        &[
            "Attached documents",
            "Nested",
            "Not shown",
            "The contents of first.",
            "Numbers",
            "Not shown",
            "Wide",
            "Not shown",
            "Tall",
            "Not shown",
            "The contents of last.",
            "What is missing",
        ],
    );
    assert_eq!(export.failed, ["Imported records"]);
    assert_eq!(export.resources, files.len() + 2);
}

#[test]
fn an_archive_is_whole_beside_a_hostile_attachment() {
    let record = record(&[("Nested", "application/pdf", nested(1_000_000)), letter("last")]);
    let (archive, _) = drawn(&reader(), &record, &(), Form::Archive).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    let mut file = Vec::new();
    std::io::copy(&mut archive.by_index(0).unwrap(), &mut file).unwrap();
    assert_in_order(&file, &["Nested", "Not shown", "The contents of last."]);
}

/// A page with 32,057 nested arrays ended the server. Whether such a file is read depends on the stack of its reader.
#[test]
fn pages_after_a_nested_attachment_are_there() {
    let (file, export) = document(&[("Nested", "application/pdf", nested(32_057)), letter("last")]);
    assert_in_order(&file, &["seventy", "Nested", "The contents of last."]);
    assert_eq!(export.resources, 4);
}

#[test]
fn a_server_answers_and_lives_on_beside_hostile_attachments() {
    let mut resources = vec![json!({"resourceType": "Patient", "id": "ann", "name": [{"family": "Ann"}]})];
    for (at, (title, content_type, bytes)) in files().into_iter().enumerate() {
        resources.push(json!({"resourceType": "DocumentReference", "id": format!("d{at}"), "status": "current",
            "subject": {"reference": "Patient/ann"},
            "content": [{"attachment": {"contentType": content_type, "title": title, "data": STANDARD.encode(bytes)}}]}));
    }
    let server = Server::imported(&resources);
    let token = format!("Bearer {}", server.patient_token("ann"));
    for path in ["/fhir/Patient/ann/$pdf", "/fhir/Patient/ann/$pdf?_format=zip"] {
        let (status, headers, file) = server.send_bytes("GET", path, &[("authorization", &token)], &[]);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&file));
        assert_eq!(headers["x-pdf-sources-failed"], "1");
        if !path.contains("zip") {
            let text = text(&file);
            assert!(text.contains("Nested") && text.contains("Whatismissing"), "{text}");
        }
    }
    let (status, _, _) = server.send_bytes("GET", "/fhir/Patient/ann", &[("authorization", &token)], &[]);
    assert_eq!(status, 200);
}

/// An address that has the document itself is longer than any message. The file could not be made at all.
#[test]
fn a_long_address_is_no_obstacle() {
    let long = format!("data:application/pdf;base64,{}", "JVBE".repeat(5 << 18));
    let attached = |id: &str, attachment: serde_json::Value| json!({"resourceType": "DocumentReference", "id": id, "content": [{"attachment": attachment}]});
    let (title, content_type, bytes) = letter("Letter 1.");
    let record = of(vec![
        attached("d0", json!({"title": "Inside", "url": long})),
        attached(
            "d1",
            json!({"title": title, "contentType": content_type, "data": STANDARD.encode(bytes)}),
        ),
    ]);
    for form in [Form::Document, Form::Archive] {
        let (file, export) = drawn(&reader(), &record, &(), form).unwrap();
        assert_eq!(export.failed, [""; 0]);
        if form == Form::Document {
            assert_in_order(&file, &["Inside", "The contents of Letter 1."]);
        }
    }
}
