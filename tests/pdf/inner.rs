//! Files inside of C-CDA documents: pictures of a section, and wrapped files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tabularium::pdf::{Attachment, Outcome};

use super::attachments::{attachment, keeps};
use super::reading::{assert_in_order, document, pages, text};

fn cda(body: &str) -> Attachment {
    let text = format!("<ClinicalDocument><title>Visit</title><component>{body}</component></ClinicalDocument>");
    attachment("visit.xml", Some("text/xml"), text.as_bytes())
}

/// A document with a section that has these files.
fn section(media: &[(&str, &str, &str)]) -> Attachment {
    let entries = media.iter().enumerate().map(|(place, (content_type, attributes, content))| {
        format!(
            "<entry><observationMedia ID=\"M{place}\"><value mediaType=\"{content_type}\" {attributes}>{content}</value>\
             </observationMedia></entry>"
        )
    });
    cda(&format!(
        "<structuredBody><component><section><title>Hand</title><text>See <renderMultiMedia referencedObject=\"M0\"/></text>{}\
         </section></component></structuredBody>",
        entries.collect::<String>()
    ))
}

/// A picture of 31 by 17 pixels.
fn png() -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 31, 17);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[90; 31 * 17]).unwrap();
    writer.finish().unwrap();
    file
}

fn has_picture(file: &[u8], size: (i64, i64)) -> bool {
    let read = lopdf::Document::load_mem(file).unwrap();
    read.objects.values().any(|object| {
        let number = |key: &[u8]| object.as_stream().ok()?.dict.get(key).ok()?.as_i64().ok();
        (number(b"Width"), number(b"Height")) == (Some(size.0), Some(size.1))
    })
}

/// Only "[picture M0]" was left of a section's picture.
#[test]
fn pictures_of_a_section_are_drawn() {
    let mut inner = document();
    inner.paragraph("a scanned page");
    let inner = inner.finish().unwrap();
    let mut document = document();
    let outcome = document.attachment(section(&[
        ("image/png", "representation=\"B64\"", &STANDARD.encode(png())),
        ("application/pdf", "representation=\"B64\"", &STANDARD.encode(&inner)),
        ("text/plain", "", "dictated"),
    ]));
    assert_eq!(outcome, Outcome::Appended { pages: 1 });
    let written = document.page_count();
    let file = document.finish().unwrap();
    let expected = [
        "Hand",
        "See [picture M0]",
        "M0",
        "image/png",
        "M1",
        "a scanned page",
        "M2",
        "dictated",
    ];
    assert_in_order(&file, &expected);
    assert_eq!(pages(&file).len(), written + 1);
    assert!(has_picture(&file, (31, 17)));
}

/// A media type, attributes, the text, the reason why it is not shown, and the kept bytes.
type Case<'c> = (&'c str, &'c str, &'c str, Option<&'c str>, &'c [u8]);

/// A file inside of a document that cannot be shown is a loss, and the rest of the document is shown.
#[test]
fn what_cannot_be_drawn_is_kept() {
    let dicom = STANDARD.encode(b"DICM in a document");
    let cases: [Case; 6] = [
        (
            "image/png",
            "representation=\"B64\"",
            "no!base64",
            Some("it is not base64"),
            b"no!base64",
        ),
        (
            "image/png",
            "representation=\"B64\"",
            "aGVsbG8=",
            Some("the picture is damaged"),
            b"hello",
        ),
        (
            "image/gif",
            "",
            "<reference value=\"hand.gif\"/>",
            Some("only its address is in the document"),
            b"",
        ),
        ("image/gif", "", "", Some("it is empty"), b""),
        (
            "text/xml",
            "",
            "&lt;ClinicalDocument/&gt;",
            Some("it is a document inside of a document"),
            b"<ClinicalDocument/>",
        ),
        (
            "application/dicom",
            "representation=\"B64\"",
            &dicom,
            None,
            b"DICM in a document",
        ),
    ];
    for (content_type, attributes, content, loss, kept) in cases {
        let mut document = document();
        let outcome = document.attachment(section(&[(content_type, attributes, content)]));
        assert_eq!(outcome.loss(), loss);
        let file = document.finish().unwrap();
        assert_in_order(&file, &["Hand", "See [picture M0]", "Not shown:", content_type]);
        assert!(kept.is_empty() || keeps(&file, kept), "{loss:?}");
        assert_eq!(text(&file).contains("hand.gif"), content.contains("hand.gif"));
    }
}

/// The message for these files was "the PDF is damaged".
#[test]
fn wrapped_files_need_no_representation_and_may_be_elsewhere() {
    let mut inner = document();
    inner.paragraph("a scanned page");
    let packed = STANDARD.encode(inner.finish().unwrap());
    let wrapped = |text: &str| cda(&format!("<nonXMLBody>{text}</nonXMLBody>"));
    let mut shown = document();
    let outcome = shown.attachment(wrapped(&format!("<text mediaType=\"application/pdf\">{packed}</text>")));
    assert_eq!(outcome, Outcome::Appended { pages: 1 });
    assert_in_order(&shown.finish().unwrap(), &["a scanned page"]);

    let mut elsewhere = document();
    let given = wrapped("<text mediaType=\"application/pdf\"><reference value=\"scans/7.pdf\"/></text>");
    let outcome = elsewhere.attachment(given.clone());
    assert!(
        outcome.loss().is_some_and(|loss| loss.ends_with("scans/7.pdf")),
        "{outcome:?}"
    );
    let file = elsewhere.finish().unwrap();
    assert_in_order(&file, &["Visit", "application/pdf", "scans/7.pdf"]);
    assert!(keeps(&file, &given.bytes));
}
