//! `$health-cards-issue`: cards verify with the published keys, hold the whole record of their patient and no other
//! person's, and are revoked with their records.

use std::collections::BTreeMap;
use std::io::Read;
use std::num::NonZeroU32;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::read::DeflateDecoder;
use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use serde_json::{Value, json};
use tabularium::consent::{KeyPurpose, NoCard};
use tabularium::http::{Limits, Rate, Rates};
use tabularium::ingest::{Options, import};
use tabularium::lake::{Lake, Mode};

use crate::harness;
use crate::harness::consented::{App, Finished, Flow, PAYER, TestEndpoint};
use crate::harness::records::{self, Record};
use crate::harness::server::{Answer, Server};
use crate::harness::stored::stored;
use crate::oauth::bearer;

const ISSUE: &str = "/fhir/Patient/$PATIENT_ID/$health-cards-issue";
const KEYS: &str = "/health-cards/.well-known/jwks.json";

fn asked() -> String {
    let parameter = json!({"name": "credentialType", "valueUri": "Patient/$everything"});
    json!({"resourceType": "Parameters", "parameter": [parameter]}).to_string()
}

fn post(server: &Server, token: &str, path: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/fhir+json"),
    ];
    server.send("POST", path, &headers, body)
}

/// The JWS in an answer.
fn card(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("application/fhir+json"));
    let body = answer.json();
    assert_eq!(body["resourceType"], "Parameters");
    let [only] = body["parameter"].as_array().unwrap().as_slice() else {
        panic!("exactly one parameter: {body}")
    };
    assert_eq!(only["name"], "verifiableCredential");
    only["valueString"].as_str().unwrap().to_owned()
}

pub(crate) fn issue(server: &Server, token: &str) -> String {
    card(&post(server, token, ISSUE, &asked()))
}

fn public(server: &Server, path: &str) -> Value {
    let answer = server.send("GET", path, &[("origin", "https://verifier.example")], "");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json")
    );
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(answer.header("cache-control"), "public, no-cache");
    answer.json()
}

/// A card's contents, after a check of its signature with the published keys.
pub(crate) fn read(server: &Server, jws: &str) -> Value {
    read_at(server, &format!("http://{}", server.address), jws)
}

/// The same at a server with another public address.
pub(crate) fn read_at(server: &Server, base: &str, jws: &str) -> Value {
    let header = jsonwebtoken::decode_header(jws).unwrap();
    assert_eq!(header.alg, Algorithm::ES256);
    let keys = public(server, KEYS);
    let keys = keys["keys"].as_array().unwrap();
    let key = keys
        .iter()
        .find(|key| key["kid"] == *header.kid.as_ref().unwrap())
        .unwrap();
    let key = DecodingKey::from_jwk(&serde_json::from_value(key.clone()).unwrap()).unwrap();
    let (signed, signature) = jws.rsplit_once('.').unwrap();
    assert!(crypto::verify(signature, signed.as_bytes(), &key, Algorithm::ES256).unwrap());
    let [header, payload] = signed.split('.').collect::<Vec<_>>()[..] else {
        panic!("header and payload")
    };
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    assert_eq!(header["zip"], "DEF");
    assert_eq!(header.as_object().unwrap().len(), 3);
    let mut text = String::new();
    let deflated = URL_SAFE_NO_PAD.decode(payload).unwrap();
    DeflateDecoder::new(&deflated[..]).read_to_string(&mut text).unwrap();
    let claims: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(claims["iss"], format!("{base}/health-cards"));
    claims
}

fn entries(claims: &Value) -> Vec<Value> {
    let bundle = &claims["vc"]["credentialSubject"]["fhirBundle"];
    assert_eq!(
        (&bundle["resourceType"], &bundle["type"]),
        (&json!("Bundle"), &json!("collection"))
    );
    bundle["entry"].as_array().unwrap().clone()
}

/// The id of a card's key, and the card's own.
pub(crate) fn names(server: &Server, jws: &str) -> (String, String) {
    let kid = jsonwebtoken::decode_header(jws).unwrap().kid.unwrap();
    let rid = read(server, jws)["vc"]["rid"].as_str().unwrap().to_owned();
    (kid, rid)
}

/// The version and the ids of a key's revocation list. The published keys have the same version.
pub(crate) fn revoked(server: &Server, kid: &str) -> (u64, Vec<Value>) {
    let list = public(server, &format!("/health-cards/.well-known/crl/{kid}.json"));
    assert_eq!((&list["kid"], &list["method"]), (&json!(kid), &json!("rid")));
    let keys = public(server, KEYS);
    let key = keys["keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["kid"] == kid)
        .unwrap();
    assert_eq!(key["crlVersion"], list["ctr"]);
    (list["ctr"].as_u64().unwrap(), list["rids"].as_array().unwrap().clone())
}

/// Ann with her doctor and a contained drug; Ben.
fn records() -> Vec<Value> {
    let ann = json!({"reference": "Patient/ann", "display": "Ann"});
    let code =
        json!({"coding": [{"system": "http://loinc.org", "code": "1-8", "display": "Glucose"}], "text": "Sugar"});
    vec![
        json!({"resourceType":"Patient","id":"ann","name":[{"family":"Annsurname"}],
            "meta":{"security":[{"system":"http://terminology.hl7.org/CodeSystem/v3-Confidentiality","code":"R"}]},
            "text":{"status":"generated","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\">Ann</div>"}}),
        json!({"resourceType":"Observation","id":"o","status":"final","code":code,"subject":ann,
            "performer":[{"reference":"Practitioner/doc"},{"reference":"Practitioner/gone"}]}),
        json!({"resourceType":"MedicationRequest","id":"m","status":"active","intent":"order","subject":ann,
            "contained":[{"resourceType":"Medication","id":"drug","code":{"text":"by hand"}}],
            "medicationReference":{"reference":"#drug"}}),
        json!({"resourceType":"Practitioner","id":"doc","name":[{"family":"Docsurname"}]}),
        json!({"resourceType":"Patient","id":"ben","name":[{"family":"Bensurname"}],
            "generalPractitioner":[{"reference":"Practitioner/doc"}]}),
        json!({"resourceType":"Condition","id":"ill","subject":{"reference":"Patient/ben"},"code":{"text":"Bensillness"}}),
    ]
}

#[test]
fn a_card_verifies_and_holds_the_record_in_the_frameworks_form() {
    let server = Server::imported(&records());
    let token = server.patient_token("ann");
    let now = server.store.clock().now();
    for path in [
        ISSUE,
        "/fhir/Patient/ann/$health-cards-issue",
        "/fhir/Patient/ann/%24health-cards-issue",
    ] {
        let claims = read(&server, &card(&post(&server, &token, path, &asked())));
        assert_eq!(claims["nbf"], now);
        let vc = &claims["vc"];
        assert_eq!(vc["type"], json!(["https://smarthealth.cards#health-card"]));
        assert_eq!(vc["credentialSubject"]["fhirVersion"], "4.0.1");
        let rid = vc["rid"].as_str().unwrap();
        assert!(
            rid.len() <= 24
                && rid
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        assert_eq!(claims.as_object().unwrap().len() + vc.as_object().unwrap().len(), 6);
        let label = json!({"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "R"});
        let subject = json!({"reference": "resource:0", "display": "Ann"});
        let expected = json!([
            {"resourceType": "Patient", "name": [{"family": "Annsurname"}], "meta": {"security": [label]}},
            {"resourceType": "MedicationRequest", "status": "active", "intent": "order", "subject": subject,
                "medicationReference": {"reference": "resource:4"}},
            {"resourceType": "Observation", "status": "final", "subject": subject,
                "code": {"coding": [{"system": "http://loinc.org", "code": "1-8"}]},
                "performer": [{"reference": "resource:3"},
                    {"type": "Practitioner", "identifier": {"value": "Practitioner/gone"}}]},
            {"resourceType": "Practitioner", "name": [{"family": "Docsurname"}]},
            {"resourceType": "Medication", "code": {"text": "by hand"}},
        ]);
        let found = entries(&claims);
        for (number, entry) in found.iter().enumerate() {
            assert_eq!(entry["fullUrl"], format!("resource:{number}"));
            assert_eq!(entry["resource"], expected[number], "{path}");
        }
        assert_eq!(found.len(), expected.as_array().unwrap().len());
    }
}

#[test]
fn nobody_gets_a_card_of_somebody_else() {
    let server = Server::imported(&records());
    let (ann, ben) = (server.patient_token("ann"), server.patient_token("ben"));
    for (id, token) in [("ben", &ann), ("ann", &ben), ("nobody", &ann), ("%2E%2E", &ann)] {
        let path = format!("/fhir/Patient/{id}/$health-cards-issue");
        let answer = post(&server, token, &path, &asked());
        assert_eq!((answer.status, answer.issue().as_str()), (404, "not-found"), "{id}");
    }
    for (own, other, token) in [("Annsurname", "Bens", &ann), ("Bensurname", "Ann", &ben)] {
        let text = read(&server, &issue(&server, token)).to_string();
        assert!(
            text.contains(own) && text.contains("Docsurname") && !text.contains(other),
            "{text}"
        );
    }
    let application = server.application_token();
    for path in [ISSUE, "/fhir/Patient/ann/$health-cards-issue"] {
        let answer = post(&server, &application, path, &asked());
        assert_eq!((answer.status, answer.issue().as_str()), (422, "processing"), "{path}");
    }
    let none = server.send("POST", ISSUE, &[("content-type", "application/fhir+json")], &asked());
    assert_eq!((none.status, none.issue().as_str()), (401, "login"));
    let read = server.get(ISSUE, &ann);
    assert_eq!((read.status, read.issue().as_str()), (404, "not-supported"));
}

#[test]
fn the_request_has_exactly_the_one_parameter() {
    let server = Server::imported(&records());
    let token = server.patient_token("ann");
    let one = json!({"name": "credentialType", "valueUri": "Patient/$everything"});
    let of = |parameters: Value| json!({"resourceType": "Parameters", "parameter": parameters}).to_string();
    for (body, said) in [
        (String::new(), "JSON"),
        ("{".to_owned(), "JSON"),
        (r#"{"resourceType":"Patient"}"#.to_owned(), "Patient"),
        (
            r#"{"resourceType":"Parameters"}"#.to_owned(),
            "credentialType is missing",
        ),
        (of(json!([])), "credentialType is missing"),
        (of(json!([one, one])), "more than once"),
        (
            of(json!([one, {"name": "includeIdentityClaim", "valueString": "Patient.name"}])),
            "includeIdentityClaim",
        ),
        (
            of(json!([{"name": "credentialValueSet", "valueUri": "https://x"}])),
            "credentialValueSet",
        ),
        (
            of(json!([{"name": "credentialType", "valueUri": "Immunization"}])),
            "Patient/$everything",
        ),
        (
            of(json!([{"name": "credentialType", "valueString": "Patient/$everything"}])),
            "valueUri",
        ),
        (of(json!([{"name": "credentialType"}])), "valueUri"),
        (of(json!({"name": "credentialType"})), "array"),
    ] {
        let answer = post(&server, &token, ISSUE, &body);
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (400, "invalid"),
            "{body}: {}",
            answer.text
        );
        assert!(answer.text.contains(said), "{body}: {}", answer.text);
    }
    let bearer = format!("Bearer {token}");
    let typed = |content_type| {
        server.send(
            "POST",
            ISSUE,
            &[("authorization", &bearer), ("content-type", content_type)],
            &asked(),
        )
    };
    assert_eq!(typed("text/plain").status, 415);
    assert_eq!(typed("application/json").status, 200);
    let pretty = post(&server, &token, &format!("{ISSUE}?_pretty=true&_count=5"), &asked());
    assert!(pretty.text.starts_with("{\n"));
    card(&pretty);
    assert_eq!(
        post(&server, &token, &format!("{ISSUE}?_format=xml"), &asked()).status,
        406
    );
    let strictly = [("authorization", bearer.as_str()), ("prefer", "handling=strict")];
    let refused = server.send("POST", &format!("{ISSUE}?_count=5"), &strictly, &asked());
    assert_eq!((refused.status, refused.issue().as_str()), (400, "invalid"));
}

#[test]
fn a_key_that_was_replaced_goes_on_verifying() {
    let server = Server::imported(&records());
    let token = server.patient_token("ann");
    let before = issue(&server, &token);
    server.store.es256_keys().rotate(KeyPurpose::HealthCard).unwrap();
    let after = issue(&server, &token);
    let ((old, first), (new, second)) = (names(&server, &before), names(&server, &after));
    assert!(old != new && first != second);
    let keys = public(&server, KEYS);
    let keys = keys["keys"].as_array().unwrap();
    assert_eq!(
        keys.iter().map(|key| &key["kid"]).collect::<Vec<_>>(),
        [&json!(new), &json!(old)]
    );
    for key in keys {
        for (name, value) in [("kty", "EC"), ("use", "sig"), ("alg", "ES256"), ("crv", "P-256")] {
            assert_eq!(key[name], value);
        }
        assert_eq!(key.as_object().unwrap().len(), 8, "nothing private: {key}");
    }
    let others = server.send("GET", "/.well-known/jwks.json", &[], "").json();
    assert!(others["keys"].as_array().unwrap().iter().all(|key| key["kty"] == "RSA"));
    server
        .store
        .es256_keys()
        .sign(KeyPurpose::Receipt, serde_json::Map::new(), b"receipt")
        .unwrap();
    assert_eq!(
        public(&server, KEYS)["keys"].as_array().unwrap().len(),
        2,
        "receipts have keys of their own"
    );
}

#[test]
fn an_erased_person_s_cards_are_revoked() {
    let server = Server::imported(&records());
    let (ann, ben) = (server.patient_token("ann"), server.patient_token("ben"));
    let cards = [issue(&server, &ann), issue(&server, &ann)];
    let (kid, _) = names(&server, &issue(&server, &ben));
    assert_eq!(revoked(&server, &kid), (1, vec![]));
    server.store.forget_imported("local", Mode::Live, "ann").unwrap();
    let mut expected: Vec<String> = cards.iter().map(|card| names(&server, card).1).collect();
    expected.sort();
    assert_eq!(
        revoked(&server, &kid),
        (2, expected.into_iter().map(Value::from).collect())
    );
    assert_eq!(post(&server, &ann, ISSUE, &asked()).status, 401);
    for file in ["nothing.json", &kid, "%2E%2E"] {
        let answer = server.send("GET", &format!("/health-cards/.well-known/crl/{file}"), &[], "");
        assert_eq!(answer.status, 404, "{file}");
    }
}

/// A connected patient with a record from each source.
fn connected(flow: &Flow<'_>, server: &Server) -> (Finished, Value) {
    let finished = flow.finish(server);
    let tokens = finished.tokens(server);
    let early = post(server, access(&tokens), ISSUE, &asked());
    assert_eq!((early.status, early.issue().as_str()), (429, "transient"));
    assert_eq!(early.header("x-retry-after"), "3");
    let sources = finished.authorizations.iter().zip(&finished.patients);
    let rows = sources.flat_map(|(authorization, patient)| {
        let row = move |json| Record {
            mode: Mode::Test,
            application: "app".to_owned(),
            owner: finished.owner,
            patient: Some(patient.clone()),
            authorization: Some(authorization.clone()),
            ..Record::new(json)
        };
        let goal = json!({"resourceType": "Goal", "id": format!("goal-{patient}"), "lifecycleStatus": "active",
            "description": {"text": "walk"}, "subject": {"reference": format!("Patient/{patient}")}});
        [row(json!({"resourceType": "Patient", "id": patient})), row(goal)]
    });
    records::commit(&server.lake, &rows.collect::<Vec<_>>());
    server.store.jobs().take_up().unwrap();
    for due in server.store.jobs().due(10, 10).unwrap() {
        server.store.jobs().begin(&due.job).unwrap().unwrap();
        assert!(server.store.jobs().complete(&due.job, "").unwrap());
    }
    (finished, tokens)
}

fn access(tokens: &Value) -> &str {
    tokens["access_token"].as_str().unwrap()
}

#[test]
fn a_revoked_consent_s_cards_are_revoked() {
    let server = Server::impatient(&[]);
    let app = App::register(&server.store, "app");
    let (finished, tokens) = connected(&Flow::of(&app), &server);
    let jws = issue(&server, access(&tokens));
    assert_eq!(entries(&read(&server, &jws)).len(), 2);
    let (kid, rid) = names(&server, &jws);
    assert_eq!(revoked(&server, &kid), (1, vec![]));
    let body = json!({"secret_key": app.test.secret});
    let answer = server.post("/link/revoke", &[("authorization", &bearer(&tokens))], &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(revoked(&server, &kid), (2, vec![json!(rid)]));
    assert_eq!(
        server.store.health_cards().begin(&finished.consent).unwrap(),
        Err(NoCard::Ended)
    );
    let lines = server.store.audit().newest(Some(&finished.consent), 100).unwrap();
    let actions: Vec<&str> = lines.iter().map(|line| line.action.as_str()).collect();
    assert!(actions.contains(&"health-card.issued") && actions.contains(&"health-cards.revoked"));
}

#[test]
fn cards_are_revoked_when_the_data_of_one_source_is_over() {
    let server = Server::impatient(&[]);
    let app = App::register(&server.store, "app");
    let once = TestEndpoint {
        name: "once",
        refreshable: false,
        ..PAYER
    };
    let flow = Flow {
        places: &[PAYER, once],
        ..Flow::of(&app)
    };
    let (finished, tokens) = connected(&flow, &server);
    let jws = issue(&server, access(&tokens));
    assert_eq!(entries(&read(&server, &jws)).len(), 4);
    let (kid, rid) = names(&server, &jws);
    server.store.clock().advance(86_401);
    server.store.sweep().unwrap();
    assert_eq!(revoked(&server, &kid), (2, vec![json!(rid)]));
    // While the rows of the other source are visible, no card can be made.
    assert_eq!(
        server.store.health_cards().begin(&finished.consent).unwrap(),
        Err(NoCard::Leaving)
    );
    let open = server.store.erasures().open(0, 10).unwrap();
    assert_eq!(open.len(), 1);
    server.store.erasures().done(&open).unwrap();
    assert!(server.store.health_cards().begin(&finished.consent).unwrap().is_ok());
}

/// Requests two cards, then one too many: directly, and as the file of a link.
fn two_cards(rates: Rates) {
    let limits = Limits {
        rates,
        ..Limits::default()
    };
    let server = Server::limited(&[], limits);
    let app = App::register(&server.store, "app");
    let (_, tokens) = connected(&Flow::of(&app), &server);
    for _ in 0..2 {
        issue(&server, access(&tokens));
    }
    let refused = post(&server, access(&tokens), ISSUE, &asked());
    assert_eq!((refused.status, refused.issue().as_str()), (429, "throttled"));
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 3_000);
    let headers = [("authorization", &*bearer(&tokens))];
    let link = server.post("/rest/health-links", &headers, &json!({"content": "health-card"}));
    assert_eq!(link.status, 429, "{}", link.text);
    assert!(link.header("retry-after").parse::<u64>().unwrap() > 3_000);
}

fn once_in_a_while() -> Option<Rate> {
    Some(Rate {
        every: Duration::from_secs(3_600),
        burst: NonZeroU32::new(2).unwrap(),
    })
}

#[test]
fn cards_share_the_rate_of_whole_records() {
    two_cards(Rates {
        records: once_in_a_while(),
        ..Rates::default()
    });
}

/// Each card leaves a permanent row in the store. A client could make a hundred a second.
#[test]
fn cards_have_a_rate_of_their_own() {
    two_cards(Rates {
        cards: once_in_a_while(),
        ..Rates::default()
    });
}

/// A record in a card's form, by rules that only know JSON. `places` finds the entry of a reference.
fn slim(value: &Value, places: &dyn Fn(&str) -> Option<usize>) -> Value {
    let members = match value {
        Value::Array(items) => return items.iter().map(|item| slim(item, places)).collect(),
        Value::Object(members) => members,
        other => return other.clone(),
    };
    let is_coded = |coding: &Value| coding["code"].is_string();
    let codings = members.get("coding").and_then(Value::as_array);
    let is_concept = codings.is_some_and(|codings| codings.iter().any(is_coded));
    let goes = |name: &str| is_concept && name == "text" || is_coded(value) && name == "display";
    let kept = members.iter().filter(|(name, _)| !goes(name));
    let mut slimmed: serde_json::Map<String, Value> =
        kept.map(|(name, inner)| (name.clone(), slim(inner, places))).collect();
    if let Some(Value::String(reference)) = members.get("reference") {
        match places(reference) {
            Some(number) => slimmed["reference"] = json!(format!("resource:{number}")),
            None => {
                slimmed.remove("reference");
                let is_uri = reference.contains(':');
                let resource_type = reference.split(['/', '?']).next().filter(|_| !is_uri);
                if let Some(resource_type) = resource_type.filter(|resource_type| !resource_type.starts_with('#')) {
                    slimmed.entry("type").or_insert(json!(resource_type));
                }
                let uri = json!({"system": "urn:ietf:rfc:3986", "value": reference});
                let identifier = if is_uri { uri } else { json!({"value": reference}) };
                slimmed.entry("identifier").or_insert(identifier);
            }
        }
    }
    Value::Object(slimmed)
}

/// The expected entries of a card of these resources, in order.
fn expected(resources: &[Value]) -> Vec<Value> {
    let numbers: BTreeMap<String, usize> = resources
        .iter()
        .enumerate()
        .map(|(at, resource)| (super::name(resource), at))
        .collect();
    let (mut own, mut contained) = (Vec::new(), Vec::new());
    for (at, resource) in resources.iter().enumerate() {
        let inside = resource["contained"].as_array().cloned().unwrap_or_default();
        let first = resources.len() + contained.len();
        let places = |reference: &str| match reference.strip_prefix('#') {
            Some("") => Some(at),
            Some(id) => inside.iter().position(|one| one["id"] == id).map(|place| first + place),
            None => {
                let target: Vec<&str> = reference.split('/').take(2).collect();
                numbers.get(&target.join("/")).copied()
            }
        };
        let bare = |resource: &Value| {
            let mut resource = resource.clone();
            for name in ["id", "meta", "text", "contained"] {
                resource.as_object_mut().unwrap().remove(name);
            }
            slim(&resource, &places)
        };
        own.push(bare(resource));
        contained.extend(inside.iter().map(bare));
    }
    own.extend(contained);
    own
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn cards_of_real_people_hold_what_the_lake_has_of_them() {
    let shared = harness::shared();
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open_or_create(folder.path()).unwrap();
    let sets = ["synthea", "carin", "uscore"].map(|set| shared.join("data").join(set));
    import(&mut lake.writer().unwrap(), Options::default(), &sets).unwrap();
    let patients = stored(&lake)
        .into_keys()
        .filter(|(_, _, resource_type, _)| *resource_type == "Patient");
    let people: Vec<String> = patients.map(|(_, _, _, id)| id).collect();
    let server = Server::over(folder, lake, Limits::default());
    let (mut compared, mut contained) = (0, 0);
    for id in &people {
        let token = server.patient_token(id);
        let path = format!("/fhir/Patient/{id}/$everything");
        let all: Vec<Value> = super::walk(&server, &token, &path, "next")
            .iter()
            .flat_map(|page| page["entry"].as_array().unwrap().clone())
            .map(|mut entry| entry["resource"].take())
            .collect();
        let expected = expected(&all);
        let found = entries(&read(&server, &issue(&server, &token)));
        assert_eq!(found.len(), expected.len(), "{id}");
        for (number, (entry, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(entry["fullUrl"], format!("resource:{number}"));
            let mut got = entry["resource"].clone();
            // Another test checks the labels.
            got.as_object_mut().unwrap().remove("meta");
            assert_eq!(got, *expected, "{id}: {:?}", all.get(number).map(super::name));
        }
        (compared, contained) = (compared + all.len(), contained + found.len() - all.len());
    }
    assert!(
        people.len() >= 5 && compared > 1_000 && contained > 100,
        "{} {compared} {contained}",
        people.len()
    );
}

#[test]
fn nothing_of_what_a_card_says_is_kept() {
    let server = Server::imported(&records());
    let jws = issue(&server, &server.patient_token("ann"));
    let signature = jws.rsplit('.').next().unwrap();
    for entry in std::fs::read_dir(server.folder()).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_string_lossy().starts_with("service") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for text in [signature, "Annsurname", "Docsurname", "Glucose"] {
            let found = bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!found, "{text} in {}", path.display());
        }
    }
}
