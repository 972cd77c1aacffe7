//! Damaged documents in a patient's `$pdf`: each has its placeholder, and those that should have been shown make the
//! source a failed one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::attachments::keeps;
use super::damaged::encrypted;
use super::reading::{assert_in_order, squeezed, text};
use crate::harness::server::Server;

/// A document of Ann.
fn document(id: &str, attachment: &Value) -> Value {
    json!({"resourceType":"DocumentReference","id":id,"status":"current","subject":{"reference":"Patient/ann"},
        "content":[{"attachment":attachment}]})
}

fn pdf(documents: &[Value]) -> (Vec<u8>, String) {
    let mut records = vec![json!({"resourceType":"Patient","id":"ann"})];
    records.extend_from_slice(documents);
    let server = Server::imported(&records);
    let authorization = format!("Bearer {}", server.patient_token("ann"));
    let path = "/fhir/Patient/$PATIENT_ID/$pdf";
    let (status, headers, file) = server.send_bytes("GET", path, &[("authorization", &authorization)], &[]);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&file));
    (file, headers["x-pdf-sources-failed"].to_str().unwrap().to_owned())
}

/// Only documents whose bytes were missing counted. A damaged one was as good as shown.
#[test]
fn a_document_that_cannot_be_shown_makes_its_source_a_failed_one() {
    let locked = encrypted(4, "nobody sees this", "secret");
    let cases: [(&str, &str, &[u8], &str); 6] = [
        ("damaged", "application/pdf", b"%PDF-1.4 nothing", "the PDF is damaged"),
        ("locked", "application/pdf", &locked, "the PDF is protected by a password"),
        ("parsed", "text/xml", b"<ClinicalDocument><a>", "the document could not be parsed"),
        ("drawn", "image/png", b"\x89PNG\r\n\x1a\nxxxx", "the picture is damaged"),
        ("written", "text/rtf", b"no RTF", "it is no RTF document"),
        (
            "wrapped",
            "text/xml",
            b"<ClinicalDocument><component><nonXMLBody><text mediaType=\"application/pdf\"><reference value=\"7.pdf\"/></text>\
              </nonXMLBody></component></ClinicalDocument>",
            "which is elsewhere: 7.pdf",
        ),
    ];
    let named = |(id, content_type, bytes, _): &(&str, &str, &[u8], &str)| {
        let title = format!("Document {id}");
        document(
            id,
            &json!({"title":title,"contentType":content_type,"data":STANDARD.encode(bytes)}),
        )
    };
    let mut documents: Vec<Value> = cases.iter().map(named).collect();
    let last = json!({"title":"Letter","contentType":"text/plain","data":STANDARD.encode("all the same")});
    documents.push(document("zz", &last));
    let (file, failed) = pdf(&documents);
    assert_eq!(failed, "1");
    let all = text(&file);
    let (_, missing) = all.split_once(&squeezed("What is missing")).unwrap();
    for (id, _, bytes, reason) in cases {
        let (title, reason) = (format!("Document{id}"), squeezed(reason));
        assert!(all.matches(&reason).count() >= 2, "{id}");
        assert!(missing.contains(&title) && missing.contains(&reason), "{id}: {missing}");
        assert!(keeps(&file, bytes), "{id}");
    }
    assert!(all.contains(&squeezed("all the same")) && !missing.contains("Letter"));
    assert!(!all.contains(&squeezed("nobody sees this")));
}

/// A type that is not shown by design is no failure.
#[test]
fn a_document_of_another_type_is_no_failure() {
    let scan = json!({"title":"Scan","contentType":"application/dicom","data":STANDARD.encode("DICM")});
    let (file, failed) = pdf(&[document("scan", &scan)]);
    assert_eq!(failed, "0");
    assert_in_order(
        &file,
        &["Scan", "Not shown", "application/dicom", "attached to this file"],
    );
    assert!(keeps(&file, b"DICM") && !text(&file).contains(&squeezed("What is missing")));
}

/// A text in a record that is no base64 left nothing in the file, even if the document was at its address.
#[test]
fn what_is_no_base64_is_read_at_its_address_or_kept() {
    let broken = json!({"title":"Broken","contentType":"application/pdf","data":"no!base64"});
    let mut other = broken.clone();
    other["url"] = json!("Binary/b");
    other["contentType"] = json!("text/plain");
    let binary = json!({"resourceType":"Binary","id":"b","contentType":"text/plain",
        "securityContext":{"reference":"Patient/ann"},"data":STANDARD.encode("at its address")});
    let (file, failed) = pdf(&[document("other", &other), binary.clone()]);
    assert_eq!(failed, "0");
    assert_in_order(&file, &["Broken", "at its address"]);
    let (file, failed) = pdf(&[document("broken", &broken)]);
    assert_eq!(failed, "1");
    assert_in_order(
        &file,
        &[
            "Broken",
            "could not be read",
            "text in its place is attached",
            "What is missing",
            "Broken",
        ],
    );
    assert!(keeps(&file, b"no!base64"));
}
