//! Documents whose attachments take long leave places to others.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tabularium::http::Limits;
use tabularium::patient::pdf::apart::Bounds;

use crate::harness::server::Server;
use crate::pdf::reading::assert_in_order;

/// A patient with one attachment.
fn patient(id: &str, text: &str) -> [Value; 2] {
    [
        json!({"resourceType": "Patient", "id": id, "name": [{"family": id}]}),
        json!({"resourceType": "DocumentReference", "id": format!("{id}-letter"), "status": "current",
            "subject": {"reference": format!("Patient/{id}")},
            "content": [{"attachment": {"contentType": "text/plain", "title": "Letter", "data": STANDARD.encode(text)}}]}),
    ]
}

/// Opens a connection and asks for a patient's document.
fn asked(server: &Server, id: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let token = server.patient_token(id);
    let request = format!("GET /fhir/Patient/{id}/$pdf HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

fn is_answered(stream: &TcpStream) -> bool {
    match stream.peek(&mut [0u8; 1]) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

/// Four slow documents had all places until they were made. Everybody else waited, or was turned away.
#[test]
fn documents_that_take_long_hold_up_only_each_other() {
    let slow = ["eve", "mallory", "oscar", "trudy"];
    let endless = "A line of words, and more.\n".repeat(400_000);
    let mut records: Vec<Value> = slow.iter().flat_map(|id| patient(id, &endless)).collect();
    records.extend(patient("anna", "The contents of the letter."));
    let hour = Duration::from_secs(3_600);
    // Nobody is turned away.
    let limits = Limits {
        documents: 1,
        patience: hour,
        slow_patience: hour,
        ..Limits::default()
    };
    let bounds = Bounds {
        attachment: hour,
        attachments: hour,
        records: hour,
        attachment_wait: hour,
        attachments_wait: hour,
        quick_wait: hour,
        ..Bounds::default()
    };
    let server = Server::bounded(&records, limits, bounds);
    let held: Vec<TcpStream> = slow.iter().map(|id| asked(&server, id)).collect();
    let bearer = format!("Bearer {}", server.patient_token("anna"));
    for _ in 0..3 {
        let headers = [("authorization", bearer.as_str())];
        let (status, _, file) = server.send_bytes("GET", "/fhir/Patient/anna/$pdf", &headers, &[]);
        let is_late = held.iter().any(is_answered);
        assert!(
            !is_late,
            "she waited for a slow document, or it is too quick for this test"
        );
        assert_eq!(status, 200);
        assert_in_order(&file, &["Letter", "The contents of the letter."]);
    }
}
