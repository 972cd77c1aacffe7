//! Documents that an organization has in addition to its records. Some are small real documents of the usual types.
//! Others are difficult for clients: one is large, one is missing and one is forbidden. A person always gets the same
//! documents.
//!
//! DocumentReferences and DiagnosticReports link to the documents. Some documents are Binaries. The others have an
//! address under `files` of the FHIR base.

use std::fmt::Write;
use std::sync::Arc;

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::office::knobs::{KINDS, Knobs};
use super::super::office::people::Person;
use super::row::Row;
use crate::sandbox::people::calendar::{PRESENT, Text};

/// A document.
pub(in crate::sandbox::payer) struct Paper {
    kind: &'static str,
    pub(in crate::sandbox::payer) content_type: &'static str,
    pub(in crate::sandbox::payer) bytes: Vec<u8>,
}

/// Returns the documents of a person that the organization's knobs choose.
pub(in crate::sandbox::payer) fn papers(person: &Person, knobs: &Knobs) -> Vec<Paper> {
    let wanted = |kind: &&&str| knobs.attachments.iter().any(|one| one == **kind || one == "all");
    let made = KINDS.iter().filter(wanted).map(|kind| paper(kind, person, knobs));
    made.collect()
}

/// Returns the document with the address `{folder}/{name}` under the FHIR base. If there is none, or if it is missing
/// or forbidden on purpose, returns the status of the answer.
pub(in crate::sandbox::payer) fn at(
    person: &Person,
    knobs: &Knobs,
    folder: &str,
    name: &str,
) -> Result<Paper, StatusCode> {
    let found = papers(person, knobs)
        .into_iter()
        .find(|paper| paper.address(person) == format!("{folder}/{name}"));
    match found {
        None => Err(StatusCode::NOT_FOUND),
        Some(paper) if paper.kind == "missing" => Err(StatusCode::NOT_FOUND),
        Some(paper) if paper.kind == "forbidden" => Err(StatusCode::FORBIDDEN),
        Some(paper) => Ok(paper),
    }
}

/// Returns the records that link to a person's documents.
pub(in crate::sandbox::payer) fn rows(person: &Person, knobs: &Knobs, base: &str) -> Vec<Arc<Row>> {
    let papers = papers(person, knobs);
    papers
        .iter()
        .map(|paper| Arc::new(paper.row(person, knobs, base)))
        .collect()
}

impl Paper {
    fn id(&self, person: &Person) -> String {
        format!("{}-{}", person.patient, self.kind)
    }

    /// Returns the document's address under the FHIR base.
    fn address(&self, person: &Person) -> String {
        let id = self.id(person);
        match self.kind {
            "html" => format!("files/{id}.html"),
            "ccda" => format!("files/{id}.xml"),
            _ => format!("Binary/{id}"),
        }
    }

    /// Returns the document as a Binary whose id is `name`.
    pub(in crate::sandbox::payer) fn resource(&self, name: &str) -> Value {
        json!({"resourceType": "Binary", "id": name, "contentType": self.content_type, "data": STANDARD.encode(&self.bytes)})
    }

    fn row(&self, person: &Person, knobs: &Knobs, base: &str) -> Row {
        let id = self.id(person);
        // Real sources write some addresses with the FHIR base and others without it. So this code does both.
        let url = match self.kind {
            "text" | "html" => self.address(person),
            _ => format!("{base}/{}", self.address(person)),
        };
        let date = Text::Instant(PRESENT).to_string();
        let attachment =
            json!({"contentType": self.content_type, "url": url, "title": format!("A document as {}", self.kind)});
        let meta = json!({"versionId": (knobs.attachment_edition + 1).to_string(), "lastUpdated": date});
        let subject = json!({"reference": format!("Patient/{}", person.patient)});
        let (resource_type, resource) = match self.kind {
            "html" => (
                "DiagnosticReport",
                json!({"resourceType": "DiagnosticReport", "id": id, "meta": meta, "status": "final",
                    "code": {"text": "A report"}, "subject": subject, "issued": date, "presentedForm": [attachment]}),
            ),
            _ => (
                "DocumentReference",
                json!({"resourceType": "DocumentReference", "id": id, "meta": meta, "status": "current",
                    "type": {"text": "A document"}, "subject": subject, "date": date, "content": [{"attachment": attachment}]}),
            ),
        };
        Row {
            resource_type: resource_type.to_owned(),
            id,
            json: resource.to_string(),
        }
    }
}

fn paper(kind: &'static str, person: &Person, knobs: &Knobs) -> Paper {
    let line = format!(
        "{} {}, born {}, edition {}.",
        person.given, person.family, person.birth_date, knobs.attachment_edition
    );
    let (content_type, bytes) = match kind {
        "pdf" => ("application/pdf", pdf(&line)),
        "html" => ("text/html", html(&line).into_bytes()),
        "rtf" => ("application/rtf", rtf(&line).into_bytes()),
        "ccda" => ("text/xml", ccda(person, &line).into_bytes()),
        "large" => ("text/plain", large(&line, knobs.attachment_bytes)),
        _ => ("text/plain", format!("Visit note\n\n{line}\n").into_bytes()),
    };
    Paper {
        kind,
        content_type,
        bytes,
    }
}

/// Returns a PDF document. It has one page with this line of text.
fn pdf(line: &str) -> Vec<u8> {
    let plain: String = line
        .chars()
        .map(|c| if c.is_ascii() && !"()\\".contains(c) { c } else { '?' })
        .collect();
    let stream = format!("BT /F1 12 Tf 72 720 Td ({plain}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut out = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    // The result of each `write!` is ignored, because writing to a `String` cannot fail.
    for (number, object) in (1..).zip(&objects) {
        places.push(out.len());
        let _ = write!(out, "{number} 0 obj\n{object}\nendobj\n");
    }
    let table = out.len();
    let _ = write!(out, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        let _ = writeln!(out, "{place:010} 00000 n ");
    }
    let _ = write!(
        out,
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    );
    out.into_bytes()
}

/// Returns an HTML page with a table, and with a script that must not run.
fn html(line: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Report</title></head>\n<body><h1>Report</h1><p>{}</p>\n\
         <table><tr><th>Test</th><th>Value</th></tr><tr><td>Sodium</td><td>140 mmol/L</td></tr></table>\n\
         <script>document.title = \"run\";</script></body></html>\n",
        escaped(line)
    )
}

fn rtf(line: &str) -> String {
    let mut text = String::new();
    for c in line.chars() {
        match c {
            '\\' | '{' | '}' => text.extend(['\\', c]),
            c if c.is_ascii() => text.push(c),
            c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(text, "\\u{}?", unit.cast_signed());
                }
            }
        }
    }
    format!("{{\\rtf1\\ansi\\deff0{{\\fonttbl{{\\f0 Helvetica;}}}}\\f0\\fs24 Letter\\par {text}\\par}}\n")
}

fn ccda(person: &Person, line: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ClinicalDocument xmlns=\"urn:hl7-org:v3\"><realmCode code=\"US\"/>\
         <typeId root=\"2.16.840.1.113883.1.3\" extension=\"POCD_HD000040\"/><templateId root=\"2.16.840.1.113883.10.20.22.1.1\"/>\
         <id root=\"{}\"/><code code=\"34133-9\" codeSystem=\"2.16.840.1.113883.6.1\"/><title>Summary of care</title>\
         <component><structuredBody><component><section><title>Notes</title><text>{}</text></section></component></structuredBody></component>\
         </ClinicalDocument>\n",
        person.patient,
        escaped(line)
    )
}

fn large(line: &str, bytes: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut number = 0u64;
    while (out.len() as u64) < bytes {
        number += 1;
        out.extend_from_slice(format!("{number}: {line}\n").as_bytes());
    }
    out.truncate(bytes as usize);
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
