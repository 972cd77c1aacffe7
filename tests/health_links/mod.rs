//! SMART Health Links over HTTP: patients create them, recipients open them as specified, and they end with the
//! records.

mod cards;
mod ends;
mod manage;
mod opened;
mod passcodes;

use std::io::Read;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::read::DeflateDecoder;
use serde_json::{Value, json};

use crate::harness::server::{Answer, Server};

/// Anna, who has asthma, and Bert, who has gout.
fn records() -> Vec<Value> {
    let condition = |id: &str, patient: &str, text: &str| {
        json!({"resourceType": "Condition", "id": id, "subject": {"reference": format!("Patient/{patient}")},
            "clinicalStatus": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical",
                "code": "active"}]},
            "category": [{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-category",
                "code": "problem-list-item"}]}],
            "code": {"text": text}})
    };
    vec![
        json!({"resourceType": "Patient", "id": "anna", "name": [{"text": "Anna Example"}], "birthDate": "1970-01-02"}),
        json!({"resourceType": "Patient", "id": "bert", "name": [{"text": "Bert Other"}]}),
        condition("c1", "anna", "Asthma"),
        condition("c2", "bert", "Gout"),
    ]
}

fn server() -> Server {
    Server::start(&records())
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Requests a link.
fn ask(server: &Server, token: &str, body: &Value) -> Answer {
    server.post("/rest/health-links", &[("authorization", &bearer(token))], body)
}

/// A link of Anna's, as in the response to its creation.
fn made(server: &Server, body: &Value) -> Value {
    let answer = ask(server, &server.patient_token("anna"), body);
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.json()
}

/// The contents of a link.
pub(crate) struct Link {
    payload: Value,
    /// The path of its address.
    path: String,
}

impl Link {
    fn of(server: &Server, made: &Value) -> Link {
        Link::at(&format!("http://{}", server.address), made)
    }

    /// A link of a service with this address.
    pub(crate) fn at(base: &str, made: &Value) -> Link {
        let text = made["link"].as_str().unwrap().strip_prefix("shlink:/").unwrap();
        let payload: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
        let path = payload["url"].as_str().unwrap().strip_prefix(base).unwrap().to_owned();
        Link { payload, path }
    }

    /// Requests the manifest.
    pub(crate) fn manifest(&self, server: &Server, more: &Value) -> Answer {
        let mut body = json!({"recipient": "Dr. Test"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        server.post(&self.path, &[], &body)
    }

    /// The decrypted document in a file.
    fn document(&self, jwe: &str) -> Value {
        self.file(jwe, "application/fhir+json")
    }

    /// A decrypted file of a media type.
    pub(crate) fn file(&self, jwe: &str, media: &str) -> Value {
        let (header, file) = decrypted(self.payload["key"].as_str().unwrap(), jwe);
        assert_eq!(
            header,
            json!({"alg": "dir", "enc": "A256GCM", "zip": "DEF", "cty": media})
        );
        file
    }
}

/// Decrypts a file as a recipient does.
fn decrypted(key: &str, jwe: &str) -> (Value, Value) {
    let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    let [header, empty, nonce, text, tag] = jwe.split('.').collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(empty, "");
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes(key)).unwrap());
    let nonce = Nonce::try_assume_unique_for_key(&bytes(nonce)).unwrap();
    let mut text = [bytes(text), bytes(tag)].concat();
    let plain = key
        .open_in_place(nonce, Aad::from(header.as_bytes()), &mut text)
        .unwrap();
    let mut file = Vec::new();
    DeflateDecoder::new(&*plain).read_to_end(&mut file).unwrap();
    let parsed = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap();
    (parsed(&bytes(header)), parsed(&file))
}

/// The answer of a link that does not exist or has ended.
fn over(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text.clone())
}

/// The answer of an address that never existed.
fn never(server: &Server) -> (u16, String) {
    let path = format!("/health-links/{}", "A".repeat(43));
    let answer = server.post(&path, &[], &json!({"recipient": "Dr. Test"}));
    assert_eq!(answer.status, 404);
    over(&answer)
}

/// Actions in the audit log, with their details, oldest first.
fn audit(server: &Server, action: &str) -> Vec<String> {
    let lines = server.store.audit().newest(None, 1_000).unwrap();
    let found = lines.into_iter().rev().filter(|line| line.action == action);
    found.map(|line| line.detail).collect()
}
